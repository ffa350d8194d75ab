// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Layers and models of Keras 2 in Keras 3's spelling (keras/src/legacy/saving/saving_utils.py and
// serialization.py say what Keras 3 makes of them).
#include "lib/Import/Keras/Legacy/Config.h"

#include "lib/Import/Keras/Dtype.h"
#include "lib/Import/Keras/Legacy/Arguments.h"
#include "lib/Import/Keras/Legacy/Nodes.h"
#include "lib/Import/Keras/Legacy/TensorFlowNodes.h"
#include "lib/Import/Keras/Operations/OperationBuilder.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSwitch.h"

#include <algorithm>
#include <cmath>

namespace mpc::keras {

namespace json = llvm::json;

json::Object serialized(llvm::StringRef module, llvm::StringRef className, json::Object config) {
  return json::Object{{"module", module.str()},
                      {"class_name", className.str()},
                      {"config", std::move(config)},
                      {"registered_name", nullptr}};
}

namespace {

/// A loss scale of tf.mixed_precision.experimental: a number, "dynamic" or an object.
std::optional<LegacyLossScale> parseLossScale(const json::Value &value) {
  LegacyLossScale scale;
  if (std::optional<double> fixed = value.getAsNumber()) {
    scale.initial = *fixed;
    scale.dynamic = false;
    return scale;
  }
  if (value.getAsString() == llvm::StringRef("dynamic"))
    return scale;
  const json::Object *object = value.getAsObject();
  if (!object)
    return std::nullopt;
  const json::Object *config = object->getObject("config");
  const llvm::StringRef className = object->getString("class_name").value_or("");
  if (className == "FixedLossScale") {
    scale.initial = config ? config->getNumber("loss_scale_value").value_or(1.0) : 1.0;
    scale.dynamic = false;
  } else if (config) {
    scale.initial = config->getNumber("initial_loss_scale").value_or(scale.initial);
    scale.growthSteps = config->getInteger("increment_period").value_or(scale.growthSteps);
  }
  return scale;
}

class Modernizer {
public:
  Modernizer(KerasVersion version, std::optional<LegacyLossScale> &scale)
      : version(version), scale(scale) {}

  json::Object convertModel(const json::Object &legacy);

private:
  json::Object convertLayer(const json::Object &legacy);
  json::Object convertConfig(llvm::StringRef className, const json::Object &legacy);
  json::Value convertPolicy(const json::Value &legacy);
  json::Array convertLayers(const json::Array &legacy);

  const KerasVersion version;
  std::optional<LegacyLossScale> &scale;
};

/// Keras's models, and classes of the user's whose config is that of one.
bool isModelObject(const json::Object &object) {
  if (isModelClass(object.getString("class_name").value_or("")))
    return true;
  const json::Object *config = object.getObject("config");
  return config && config->getArray("layers") && config->get("input_layers") &&
         config->get("output_layers");
}

json::Value Modernizer::convertPolicy(const json::Value &legacy) {
  const json::Object *object = legacy.getAsObject();
  const llvm::StringRef className = object ? object->getString("class_name").value_or("") : "";
  if (className != "Policy" && className != "PolicyV1")
    return legacy;
  const json::Object *config = object->getObject("config");
  const json::Value *lossScale = config ? config->get("loss_scale") : nullptr;
  if (lossScale && !scale)
    scale = parseLossScale(*lossScale);
  const json::Value *name = config ? config->get("name") : nullptr;
  return serialized("keras", "DTypePolicy",
                    json::Object{{"name", name ? *name : json::Value(nullptr)}});
}

/// The module of an object in a layer's config, by its key; empty for what is no object of Keras.
llvm::StringRef moduleOf(llvm::StringRef key) {
  for (llvm::StringRef kind : {"initializer", "regularizer", "constraint"})
    if (key.ends_with(("_" + kind).str()))
      return kind == "initializer"   ? "keras.initializers"
             : kind == "regularizer" ? "keras.regularizers"
                                     : "keras.constraints";
  return "";
}

/// A number that NumPy held: {"type": "ndarray", "value": …} in files of Keras 2.2 and before.
json::Value unwrapNumber(const json::Value &value) {
  const json::Object *object = value.getAsObject();
  const json::Value *number = object && object->size() == 2 ? object->get("value") : nullptr;
  return number && object->get("type") ? *number : value;
}

/// The other direction of a Bidirectional whose file holds one layer: its mirror
/// (tf_keras/src/layers/rnn/bidirectional.py).
void addMirror(json::Object &config) {
  json::Object *forward = config.getObject("layer");
  if (!forward || !forward->getObject("config") || config.getObject("backward_layer"))
    return;
  json::Object backward = *forward;
  json::Object &mirrored = *backward.getObject("config");
  mirrored["go_backwards"] = !readFlag(mirrored.get("go_backwards")).value_or(false);
  const std::string name = mirrored.getString("name").value_or("layer").str();
  mirrored["name"] = "backward_" + name;
  (*forward->getObject("config"))["name"] = "forward_" + name;
  config["backward_layer"] = std::move(backward);
}

/// Layers of categories count in integers, which is no policy: their results are.
bool isPolicyOfIntegers(const json::Value &dtype) {
  const std::optional<llvm::StringRef> name = dtype.getAsString();
  return name && (name->starts_with("int") || name->starts_with("uint"));
}

/// Adds arguments that Keras 3 would default to something else where they are missing.
void addDefaults(llvm::StringRef className, json::Object &config) {
  const bool isGated = llvm::is_contained(
      {"LSTM", "GRU", "LSTMCell", "GRUCell", "ConvLSTM1D", "ConvLSTM2D", "ConvLSTM3D"}, className);
  if (isGated && !config.get("recurrent_activation"))
    config["recurrent_activation"] = "hard_sigmoid";
  if (className.starts_with("GRU") && !config.get("reset_after"))
    config["reset_after"] = false;
  if (className == "Bidirectional")
    addMirror(config);
}

json::Object Modernizer::convertConfig(llvm::StringRef className, const json::Object &legacy) {
  json::Object config;
  for (const auto &[name, given] : legacy) {
    const llvm::StringRef key = name; // json::Object keeps no copy of a StringRef key
    const json::Value value = unwrapNumber(given);
    const json::Object *object = value.getAsObject();
    if (key == "batch_input_shape") {
      if (className == "InputLayer")
        config["batch_shape"] = value;
    } else if (className == "LeakyReLU" && key == "alpha") {
      config["negative_slope"] = value;
    } else if (key == "dtype") {
      if (className == "InputLayer" || !isPolicyOfIntegers(value))
        config[key.str()] = convertPolicy(value);
    } else if (isIdleArgument(className, key, value)) {
      continue;
    } else if (const json::Array *axes = key == "axis" ? value.getAsArray() : nullptr;
               axes && axes->size() == 1) {
      // A list is of a layer that is built; with parts of the batch it counts their dimension.
      const std::optional<int64_t> axis = axes->front().getAsInteger();
      const bool countsParts =
          axis && *axis > 1 && legacy.getNumber("virtual_batch_size").value_or(0) != 0;
      config[key.str()] = countsParts ? json::Value(*axis - 1) : axes->front();
    } else if (object && (key == "layer" || key == "backward_layer" || key == "cell")) {
      config[key.str()] = convertLayer(*object);
    } else if (object && !object->get("module") && object->getString("class_name")) {
      const llvm::StringRef nested = *object->getString("class_name");
      if (llvm::StringRef module = moduleOf(key); !module.empty()) {
        const json::Object *inner = object->getObject("config");
        config[key.str()] = serialized(module, nested, inner ? *inner : json::Object());
      } else if (key.ends_with("activation") && object->getObject("config")) {
        config[key.str()] = convertLayer(*object);
      } else {
        config[key.str()] = value;
      }
    } else if (const json::Array *cells = key == "cells" ? value.getAsArray() : nullptr) {
      config[key.str()] = convertLayers(*cells);
    } else {
      config[key.str()] = value;
    }
  }
  if (version.isKeras2())
    addDefaults(className, config);
  return config;
}

json::Array Modernizer::convertLayers(const json::Array &legacy) {
  json::Array layers;
  for (const json::Value &layer : legacy)
    layers.push_back(layer.getAsObject() ? json::Value(convertLayer(*layer.getAsObject())) : layer);
  return layers;
}

/// Whether this is a node that keras.ops recorded, which Keras 3 writes like a layer of its name
/// and then does not read. Layers of such names say whether they are trainable.
bool isRecordedOperation(llvm::StringRef className, const json::Object &legacy) {
  const json::Object *config = legacy.getObject("config");
  const json::Array *nodes = legacy.getArray("inbound_nodes");
  LayerConfig operation;
  operation.className = className.str();
  return config && !config->get("trainable") && nodes && !nodes->empty() &&
         nodes->front().getAsObject() && findOperation(operation);
}

/// Keras 2 names the module that defines a class (keras.src.layers.core.dense, tf_keras.…), or
/// none.
bool isKerasModule(llvm::StringRef module) {
  if (module.empty())
    return true;
  module.consume_front("tensorflow.python.") || module.consume_front("tensorflow.") ||
      module.consume_front("tf_");
  return module == "keras" || module.starts_with("keras.");
}

/// Up to 2.9 the layer is causal, in Keras 3 its calls are.
void moveCausal(json::Object &layer) {
  json::Object *config = layer.getObject("config");
  json::Array *nodes = layer.getArray("inbound_nodes");
  if (!config || !nodes || !readFlag(config->get("causal")).value_or(false))
    return;
  config->erase("causal");
  for (json::Value &node : *nodes)
    if (json::Object *object = node.getAsObject())
      if (json::Object *keywords = object->getObject("kwargs"))
        (*keywords)["use_causal_mask"] = true;
}

json::Object Modernizer::convertLayer(const json::Object &legacy) {
  const llvm::StringRef className = legacy.getString("class_name").value_or("");
  const llvm::StringRef module = legacy.getString("module").value_or("");
  if (isModelObject(legacy))
    return convertModel(legacy);
  if (isTensorFlowClass(className))
    return legacy;
  if (module.empty() && isRecordedOperation(className, legacy)) {
    json::Object operation = legacy;
    operation["module"] = "keras.src.ops";
    operation["registered_name"] = nullptr;
    return operation;
  }
  const llvm::StringRef today =
      llvm::StringSwitch<llvm::StringRef>(className)
          .Cases({"BatchNormalizationV1", "BatchNormalizationV2"}, "BatchNormalization")
          .Default(className);
  json::Object layer = legacy;
  const llvm::StringRef registered = legacy.getString("registered_name").value_or("");
  if (isKerasModule(module) && !className.contains('>') && !registered.contains('>')) {
    layer["module"] = "keras.layers";
    layer["registered_name"] = nullptr;
    layer["class_name"] = today.str();
  }
  const json::Object *config = legacy.getObject("config");
  if (config)
    layer["config"] = convertConfig(today, *config);
  if (const json::Array *nodes = legacy.getArray("inbound_nodes"))
    layer["inbound_nodes"] = modernizeNodes(className, config ? *config : json::Object(), *nodes);
  if (className == "Attention" || className == "AdditiveAttention")
    moveCausal(layer);
  return layer;
}

/// The shape that the first layer of a Sequential model asks for, in whatever model it lies.
const json::Array *findInputShape(const json::Object &layer, llvm::StringRef &name,
                                  llvm::StringRef &className, unsigned depth = 0) {
  const json::Value *value = layer.get("config");
  const json::Object *config = value ? value->getAsObject() : nullptr;
  const json::Array *layers = value ? value->getAsArray() : nullptr;
  if (config)
    if (const json::Array *shape = config->getArray("batch_input_shape")) {
      name = config->getString("name").value_or("input");
      className = layer.getString("class_name").value_or("");
      return shape;
    }
  if (config && !layers)
    layers = config->getArray("layers");
  if (!layers || layers->empty() || !layers->front().getAsObject() || depth > 64)
    return nullptr;
  return findInputShape(*layers->front().getAsObject(), name, className, depth + 1);
}

json::Object Modernizer::convertModel(const json::Object &legacy) {
  const bool sequential = legacy.getString("class_name") == llvm::StringRef("Sequential");
  json::Object model = legacy;
  if (isModelClass(legacy.getString("class_name").value_or(""))) {
    model["module"] = sequential ? "keras" : "keras.src.models.functional";
    model["registered_name"] = sequential ? json::Value(nullptr) : json::Value("Functional");
    model["class_name"] = sequential ? "Sequential" : "Functional";
  } else if (!legacy.get("module")) {
    model["module"] = nullptr; // the user's class: the parser says so
  }
  json::Object config;
  const json::Array *layers = nullptr;
  if (const json::Value *value = legacy.get("config")) {
    layers =
        value->getAsArray(); // before Keras 2.2.3, a Sequential model is the list of its layers
    if (const json::Object *object = value->getAsObject()) {
      config = *object;
      layers = object->getArray("layers");
    }
  }
  if (!layers)
    return model;
  if (const json::Value *dtype = config.get("dtype"))
    config["dtype"] = convertPolicy(json::Value(*dtype));
  renumberCalls(config);
  if (const json::Array *renumbered = config.getArray("layers"))
    layers = renumbered;
  json::Array converted = convertLayers(*layers);
  if (const json::Array *nodes = legacy.getArray("inbound_nodes"))
    model["inbound_nodes"] = modernizeNodes("Functional", config, *nodes);
  llvm::StringRef inputName, firstClass;
  const json::Object *first = layers->empty() ? nullptr : layers->front().getAsObject();
  if (sequential && first && first->getString("class_name") != llvm::StringRef("InputLayer"))
    if (const json::Array *shape = findInputShape(*first, inputName, firstClass)) {
      json::Object input{{"name", (inputName + "_input").str()},
                         {"batch_shape", json::Array(*shape)},
                         {"dtype", firstClass == "Embedding" ? "int32" : "float32"},
                         {"sparse", false}};
      converted.insert(converted.begin(),
                       serialized("keras.layers", "InputLayer", std::move(input)));
    }
  config["layers"] = std::move(converted);
  if (!config.get("name"))
    config["name"] = sequential ? "sequential" : "model";
  model["config"] = std::move(config);
  return model;
}

} // namespace

bool isLegacyModel(const json::Object &object) {
  return !object.get("module") && object.get("config") && isModelObject(object);
}

json::Object modernizeModel(const json::Object &legacy, KerasVersion version,
                            std::optional<LegacyLossScale> &scale) {
  json::Object model = Modernizer(version, scale).convertModel(legacy);
  if (version.isKeras2())
    model[kSemanticsKey.str()] = (llvm::Twine(version.major) + "." + llvm::Twine(version.minor) +
                                  (version.ofTensorFlow ? "-tf" : ""))
                                     .str();
  return model;
}

} // namespace mpc::keras
