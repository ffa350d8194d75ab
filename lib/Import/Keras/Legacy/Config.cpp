// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Layers and models of Keras 2 in Keras 3's spelling (keras/src/legacy/saving/saving_utils.py and
// serialization.py say what Keras 3 makes of them).
#include "Config.h"

#include "../Operations/OperationBuilder.h"

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
  explicit Modernizer(std::optional<LegacyLossScale> &scale) : scale(scale) {}

  json::Object convertModel(const json::Object &legacy);

private:
  json::Object convertLayer(const json::Object &legacy);
  json::Object convertConfig(llvm::StringRef className, const json::Object &legacy);
  json::Value convertPolicy(const json::Value &legacy);
  json::Array convertLayers(const json::Array &legacy);

  std::optional<LegacyLossScale> &scale;
};

bool isModelClass(llvm::StringRef name) {
  return name == "Functional" || name == "Model" || name == "Sequential";
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

/// Keys of Keras 2 that no layer of Keras 3 takes.
bool isDropped(llvm::StringRef className, llvm::StringRef key) {
  if (llvm::is_contained({"batch_input_shape", "time_major", "ragged", "virtual_batch_size",
                          "renorm", "renorm_clipping", "renorm_momentum", "fused", "input_spec"},
                         key))
    return !(className == "InputLayer" && key == "ragged");
  const bool depthwise = className.starts_with("Depthwise") || className.starts_with("Separable");
  return depthwise &&
         llvm::is_contained(
             {"groups", "kernel_initializer", "kernel_regularizer", "kernel_constraint"}, key);
}

json::Object Modernizer::convertConfig(llvm::StringRef className, const json::Object &legacy) {
  json::Object config;
  for (const auto &[name, value] : legacy) {
    const llvm::StringRef key = name; // json::Object keeps no copy of a StringRef key
    const json::Object *object = value.getAsObject();
    if (className == "InputLayer" && key == "batch_input_shape") {
      config["batch_shape"] = value;
    } else if (className == "LeakyReLU" && key == "alpha") {
      config["negative_slope"] = value;
    } else if (key == "dtype") {
      config[key.str()] = convertPolicy(value);
    } else if (key == "time_major" && value.getAsBoolean() == std::optional(true)) {
      config[key.str()] = value; // no layer of Keras 3 has it: the importer says so
    } else if (isDropped(className, key)) {
      continue;
    } else if (const json::Array *axes = key == "axis" ? value.getAsArray() : nullptr;
               axes && axes->size() == 1) {
      config[key.str()] = axes->front();
    } else if (object && !object->get("module") && object->getString("class_name")) {
      const llvm::StringRef nested = *object->getString("class_name");
      if (llvm::StringRef module = moduleOf(key); !module.empty()) {
        const json::Object *inner = object->getObject("config");
        config[key.str()] = serialized(module, nested, inner ? *inner : json::Object());
      } else if (key == "layer" || key == "backward_layer" || key == "cell") {
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

json::Object Modernizer::convertLayer(const json::Object &legacy) {
  if (legacy.get("module"))
    return legacy;
  const llvm::StringRef className = legacy.getString("class_name").value_or("");
  if (isModelClass(className))
    return convertModel(legacy);
  if (isRecordedOperation(className, legacy)) {
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
  layer["module"] = "keras.layers";
  layer["registered_name"] = nullptr;
  layer["class_name"] = today.str();
  if (const json::Object *config = legacy.getObject("config"))
    layer["config"] = convertConfig(today, *config);
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

/// The highest call of each layer that [layer, call, tensor, ...] in `tensors` refer to.
void collectReferences(const json::Value &tensors, llvm::StringMap<int64_t> &highest) {
  const json::Array *items = tensors.getAsArray();
  if (!items)
    return;
  for (const json::Value &item : *items) {
    const json::Array *tensor = item.getAsArray();
    std::optional<llvm::StringRef> layer =
        tensor && tensor->size() >= 3 ? (*tensor)[0].getAsString() : std::nullopt;
    if (layer)
      highest[*layer] = std::max(highest.lookup(*layer), (*tensor)[1].getAsInteger().value_or(0));
  }
}

/// Keras 2 counts the calls of a nested model from 1, its construction being call 0; Keras 3 counts
/// from 0, but in output_layers also from 1 for a Functional model.
void renumberCalls(json::Object &config) {
  json::Array *layers = config.getArray("layers");
  if (!layers)
    return;
  llvm::StringMap<int64_t> highest;
  llvm::StringMap<bool> shifted; // nested models; true for a Sequential one
  for (json::Value &value : *layers)
    if (const json::Object *layer = value.getAsObject())
      if (const json::Array *nodes = layer->getArray("inbound_nodes"))
        for (const json::Value &node : *nodes)
          collectReferences(node, highest);
  if (const json::Value *outputs = config.get("output_layers"))
    collectReferences(*outputs, highest);
  for (json::Value &value : *layers) {
    const json::Object *layer = value.getAsObject();
    const json::Array *nodes = layer ? layer->getArray("inbound_nodes") : nullptr;
    if (!nodes || !isModelClass(layer->getString("class_name").value_or("")))
      continue;
    const llvm::StringRef name = layer->getString("name").value_or("");
    if (highest.lookup(name) == int64_t(nodes->size()))
      shifted[name] = layer->getString("class_name") == llvm::StringRef("Sequential");
  }
  auto shift = [&](json::Value &item, bool onlySequential) {
    json::Array *tensor = item.getAsArray();
    if (!tensor || tensor->size() < 3)
      return;
    auto found = shifted.find((*tensor)[0].getAsString().value_or(""));
    if (found == shifted.end() || (onlySequential && !found->second))
      return;
    (*tensor)[1] = (*tensor)[1].getAsInteger().value_or(1) - 1;
  };
  for (json::Value &value : *layers)
    if (json::Object *layer = value.getAsObject())
      if (json::Array *nodes = layer->getArray("inbound_nodes"))
        for (json::Value &node : *nodes)
          if (json::Array *tensors = node.getAsArray())
            for (json::Value &item : *tensors)
              shift(item, /*onlySequential=*/false);
  if (json::Array *outputs = config.getArray("output_layers"))
    for (json::Value &item : *outputs)
      shift(item, /*onlySequential=*/true);
}

json::Object Modernizer::convertModel(const json::Object &legacy) {
  const bool sequential = legacy.getString("class_name") == llvm::StringRef("Sequential");
  json::Object model = legacy;
  model["module"] = sequential ? "keras" : "keras.src.models.functional";
  model["registered_name"] = sequential ? json::Value(nullptr) : json::Value("Functional");
  model["class_name"] = sequential ? "Sequential" : "Functional";
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
  json::Array converted = convertLayers(*layers);
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
  renumberCalls(config);
  model["config"] = std::move(config);
  return model;
}

} // namespace

bool isLegacyModel(const json::Object &object) {
  return !object.get("module") && object.get("config") &&
         isModelClass(object.getString("class_name").value_or(""));
}

json::Object modernizeModel(const json::Object &legacy, std::optional<LegacyLossScale> &scale) {
  return Modernizer(scale).convertModel(legacy);
}

} // namespace mpc::keras
