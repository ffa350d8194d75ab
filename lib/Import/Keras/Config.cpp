// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Architecture JSON to ModelConfig. Accepts what Keras 3 writes, and the node form of older files
// (lists of [layer, node, tensor, kwargs]).
#include "mpc/Import/Keras/Config.h"

#include "lib/Import/Keras/Legacy/TensorFlowNodes.h"

#include "mpc/Import/Keras/InputError.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"

#include <limits>

namespace mpc::keras {
namespace {

namespace json = llvm::json;

constexpr llvm::StringLiteral kConfigAdvice("expected an architecture as Keras writes it");

/// Keys in sorted order: json::Object has none of its own, and results must not depend on hashing.
llvm::SmallVector<llvm::StringRef> sortedKeys(const json::Object &object) {
  llvm::SmallVector<llvm::StringRef> keys;
  for (const auto &entry : object)
    keys.push_back(entry.first);
  llvm::sort(keys);
  return keys;
}

std::optional<uint64_t> asIndex(const json::Value &value) {
  std::optional<int64_t> number = value.getAsInteger();
  if (!number || *number < 0 || *number > std::numeric_limits<int32_t>::max())
    return std::nullopt;
  return uint64_t(*number);
}

/// [layer, node, tensor, ...] with at least three elements.
std::optional<TensorRef> asTensorRef(const json::Array &triple) {
  if (triple.size() < 3)
    return std::nullopt;
  std::optional<llvm::StringRef> layer = triple[0].getAsString();
  std::optional<uint64_t> node = asIndex(triple[1]), tensor = asIndex(triple[2]);
  if (!layer || !node || !tensor)
    return std::nullopt;
  return TensorRef{layer->str(), *node, *tensor, ""};
}

void collectTensors(const Argument &argument, std::vector<const TensorRef *> &out) {
  if (argument.kind == Argument::Kind::Tensor)
    out.push_back(&argument.tensor);
  for (const Argument &item : argument.items)
    collectTensors(item, out);
}

std::vector<int64_t> asShape(const json::Array &array) {
  std::vector<int64_t> shape;
  for (const json::Value &extent : array)
    shape.push_back(extent.getAsInteger().value_or(-1));
  return shape;
}

/// A shape of one tensor: all elements are null or integers. A list of shapes is none.
std::optional<std::vector<int64_t>> findBuildShape(const json::Object &object,
                                                   const json::Object &config) {
  const json::Array *shape = config.getArray("build_input_shape");
  if (!shape)
    if (const json::Object *build = object.getObject("build_config"))
      shape = build->getArray("input_shape");
  if (!shape || shape->empty())
    return std::nullopt;
  for (const json::Value &extent : *shape)
    if (extent.kind() != json::Value::Null && !extent.getAsInteger())
      return std::nullopt;
  return asShape(*shape);
}

class Parser {
public:
  Parser(llvm::StringRef fileName, KerasVersion version) : fileName(fileName), version(version) {}

  std::unique_ptr<ModelConfig> parseModel(const json::Object &object, llvm::StringRef path);
  static bool isModel(const json::Object &object);
  void report(llvm::StringRef path, const llvm::Twine &message) {
    const std::string where = (path.empty() ? fileName : fileName + ":" + path).str();
    errors = llvm::joinErrors(std::move(errors), inputError(where, message));
  }

  llvm::StringRef fileName;
  const KerasVersion version;
  llvm::Error errors = llvm::Error::success();

  LayerConfig parseLayer(const json::Value &value, size_t index, llvm::StringRef modelPath);

private:
  void parseCalls(const json::Array &nodes, LayerConfig &layer, llvm::StringRef path);
  Argument parseArgument(const json::Value &value, llvm::StringRef path);
  Argument parseStructure(const json::Value *value, llvm::StringRef path, llvm::StringRef key);
};

/// A class of the user's whose config is that of a Functional or Sequential model:
/// Functional.get_config writes one where the class has the constructor of Keras's.
static bool isOwnClassOfModel(const json::Object &object) {
  const json::Value *module = object.get("module");
  const json::Object *config = object.getObject("config");
  if (!module || !config || module->getAsString().value_or("").starts_with("keras") ||
      object.getString("registered_name").value_or("").starts_with("keras_hub>"))
    return false;
  const json::Array *layers = config->getArray("layers");
  return layers && !layers->empty() && layers->front().getAsObject() &&
         ((config->get("input_layers") && config->get("output_layers")) ||
          config->get("build_input_shape"));
}

bool Parser::isModel(const json::Object &object) {
  const llvm::StringRef name = object.getString("class_name").value_or("");
  // Files of Keras 2 have no module.
  const json::Value *module = object.get("module");
  if ((name == "Functional" || name == "Model" || name == "Sequential") &&
      (!module || module->getAsString().value_or("").starts_with("keras")))
    return true;
  return isOwnClassOfModel(object);
}

Argument Parser::parseArgument(const json::Value &value, llvm::StringRef path) {
  Argument argument;
  if (const json::Array *array = value.getAsArray()) {
    argument.kind = Argument::Kind::List;
    for (const json::Value &item : *array)
      argument.items.push_back(parseArgument(item, path));
    return argument;
  }
  const json::Object *object = value.getAsObject();
  if (!object) {
    argument.constant = value;
    return argument;
  }
  const std::optional<llvm::StringRef> className = object->getString("class_name");
  if (className && *className == "__keras_tensor__") {
    const json::Object *config = object->getObject("config");
    const json::Array *history = config ? config->getArray("keras_history") : nullptr;
    std::optional<TensorRef> tensor = history ? asTensorRef(*history) : std::nullopt;
    if (!tensor) {
      report(path, "a tensor argument has no valid keras_history; " + llvm::Twine(kConfigAdvice));
      return argument;
    }
    argument.kind = Argument::Kind::Tensor;
    argument.tensor = *tensor;
    argument.tensor.dtype = config->getString("dtype").value_or("").str();
    return argument;
  }
  if (className) { // __tensor__, __numpy__, __slice__, __lambda__: the layer's importer judges
    argument.constant = value;
    return argument;
  }
  argument.kind = Argument::Kind::Dict;
  for (llvm::StringRef key : sortedKeys(*object)) {
    argument.keys.push_back(key.str());
    argument.items.push_back(parseArgument(*object->get(key), path));
  }
  return argument;
}

Argument Parser::parseStructure(const json::Value *value, llvm::StringRef path,
                                llvm::StringRef key) {
  Argument argument;
  if (!value) {
    report(path, "missing '" + key + "'; " + kConfigAdvice);
    return argument;
  }
  if (const json::Array *array = value->getAsArray()) {
    if (std::optional<TensorRef> tensor = asTensorRef(*array)) {
      argument.kind = Argument::Kind::Tensor;
      argument.tensor = *tensor;
      return argument;
    }
    argument.kind = Argument::Kind::List;
    for (const json::Value &item : *array)
      argument.items.push_back(parseStructure(&item, path, key));
    return argument;
  }
  if (const json::Object *object = value->getAsObject()) {
    argument.kind = Argument::Kind::Dict;
    for (llvm::StringRef name : sortedKeys(*object)) {
      argument.keys.push_back(name.str());
      argument.items.push_back(parseStructure(object->get(name), path, key));
    }
    return argument;
  }
  report(path, "'" + key + "' holds something else than [layer, node, tensor]; " + kConfigAdvice);
  return argument;
}

void Parser::parseCalls(const json::Array &nodes, LayerConfig &layer, llvm::StringRef path) {
  for (const json::Value &value : nodes) {
    Node node;
    if (isTensorFlowClass(layer.className)) {
      std::optional<Node> recorded = parseTensorFlowNode(value);
      if (!recorded) {
        report(path, "an inbound node of a TensorFlow operation holds something else than [layer, "
                     "node, tensor, keywords] or constants; " +
                         llvm::Twine(kConfigAdvice));
        return;
      }
      node = std::move(*recorded);
    } else if (const json::Object *object = value.getAsObject()) {
      if (const json::Array *arguments = object->getArray("args"))
        for (const json::Value &argument : *arguments)
          node.arguments.push_back(parseArgument(argument, path));
      if (const json::Object *keywords = object->getObject("kwargs"))
        for (llvm::StringRef key : sortedKeys(*keywords))
          node.keywords.emplace_back(key.str(), parseArgument(*keywords->get(key), path));
    } else if (const json::Array *legacy = value.getAsArray()) {
      // One tensor [layer, node, tensor, kwargs], or a list of them that form one list argument.
      std::vector<Argument> tensors;
      for (const json::Value &item : *legacy) {
        const json::Array *triple = item.getAsArray();
        std::optional<TensorRef> tensor = triple ? asTensorRef(*triple) : std::nullopt;
        if (!tensor) {
          report(path, "an inbound node holds something else than [layer, node, tensor, kwargs]; " +
                           llvm::Twine(kConfigAdvice));
          return;
        }
        Argument argument;
        argument.kind = Argument::Kind::Tensor;
        argument.tensor = *tensor;
        tensors.push_back(std::move(argument));
        const json::Object *keywords = triple->size() > 3 ? (*triple)[3].getAsObject() : nullptr;
        if (keywords && node.keywords.empty())
          for (llvm::StringRef key : sortedKeys(*keywords))
            node.keywords.emplace_back(key.str(), parseArgument(*keywords->get(key), path));
      }
      if (tensors.size() == 1) {
        node.arguments = std::move(tensors);
      } else {
        Argument list;
        list.kind = Argument::Kind::List;
        list.items = std::move(tensors);
        node.arguments.push_back(std::move(list));
      }
    } else {
      report(path,
             "an inbound node is neither an object nor a list; " + llvm::Twine(kConfigAdvice));
      return;
    }
    layer.calls.push_back(std::move(node));
  }
}

/// Makes tensors of the arrays that a layer is called with; operations judge themselves what their
/// arrays are.
static void makeArraysTensors(Argument &argument) {
  for (Argument &item : argument.items)
    makeArraysTensors(item);
  const json::Object *object =
      argument.kind == Argument::Kind::Constant ? argument.constant.getAsObject() : nullptr;
  const llvm::StringRef className =
      object ? object->getString("class_name").value_or("") : llvm::StringRef();
  if (className != "__tensor__" && className != "__numpy__")
    return;
  argument.kind = Argument::Kind::Tensor;
  argument.tensor.array = std::make_shared<const json::Object>(*object);
  argument.constant = nullptr;
}

LayerConfig Parser::parseLayer(const json::Value &value, size_t index, llvm::StringRef modelPath) {
  LayerConfig layer;
  const std::string prefix = modelPath.empty() ? "" : modelPath.str() + "/";
  std::string path = prefix + "layers[" + std::to_string(index) + "]";
  const json::Object *object = value.getAsObject();
  const json::Object *config = object ? object->getObject("config") : nullptr;
  const std::optional<llvm::StringRef> className =
      object ? object->getString("class_name") : std::nullopt;
  if (!config || !className) {
    report(path, "a layer entry needs 'class_name' and 'config'; " + llvm::Twine(kConfigAdvice));
    return layer;
  }
  std::optional<llvm::StringRef> name = object->getString("name");
  if (!name)
    name = config->getString("name");
  if (!name || name->empty()) {
    report(path, "a layer of class " + *className + " has no name; " + kConfigAdvice);
    return layer;
  }
  path = prefix + name->str();
  layer.className = className->str();
  layer.module = object->getString("module").value_or("").str();
  layer.registeredName = object->getString("registered_name").value_or("").str();
  layer.name = name->str();
  layer.config = *config;
  layer.version = version;
  if (const json::Value *build = object->get("build_config"))
    if (build->kind() != json::Value::Null)
      layer.buildConfig = *build;
  layer.sharedObject = object->getInteger("shared_object_id");
  if (const json::Array *nodes = object->getArray("inbound_nodes"))
    parseCalls(*nodes, layer, path);
  if (!isOperation(layer))
    for (Node &call : layer.calls) {
      llvm::for_each(call.arguments, makeArraysTensors);
      llvm::for_each(llvm::make_second_range(call.keywords), makeArraysTensors);
    }
  if (isModel(*object))
    layer.model = parseModel(*object, path);
  return layer;
}

std::unique_ptr<ModelConfig> Parser::parseModel(const json::Object &object, llvm::StringRef path) {
  auto model = std::make_unique<ModelConfig>();
  const json::Object *config = object.getObject("config");
  if (isOwnClassOfModel(object)) {
    model->ownClass = object.getString("class_name").value_or("").str();
    if (!config->get("input_layers"))
      model->kind = ModelConfig::Kind::Sequential;
  } else if (object.getString("class_name") == llvm::StringRef("Sequential")) {
    model->kind = ModelConfig::Kind::Sequential;
  }
  const json::Array *layers = config ? config->getArray("layers") : nullptr;
  if (!layers) {
    report(path, "the model's config has no list 'layers'; " + llvm::Twine(kConfigAdvice));
    return model;
  }
  model->name = config->getString("name").value_or("model").str();
  model->trainable =
      config->getBoolean("trainable")
          .value_or(config->getNumber("trainable").value_or(1.0) != 0.0); // Python takes 1 for true
  if (const json::Object *compile = object.getObject("compile_config"))
    model->compileConfig = *compile;
  llvm::StringSet<> names;
  for (const auto &[index, value] : llvm::enumerate(*layers)) {
    LayerConfig layer = parseLayer(value, index, path);
    if (layer.className.empty())
      continue;
    if (!names.insert(layer.name).second)
      report(path, "two layers are called '" + layer.name + "'; layer names are unique in a model");
    model->layers.push_back(std::move(layer));
  }
  if (model->kind == ModelConfig::Kind::Sequential) {
    model->buildShape = findBuildShape(object, *config);
    return model;
  }
  model->inputs = parseStructure(config->get("input_layers"), path, "input_layers");
  model->outputs = parseStructure(config->get("output_layers"), path, "output_layers");
  return model;
}

} // namespace

bool isOperation(const LayerConfig &layer) {
  const llvm::StringRef module = layer.module;
  return module.starts_with("keras.src.ops") || module.starts_with("keras.src.activations") ||
         isTensorFlowClass(layer.className);
}

std::vector<const TensorRef *> Argument::tensors() const {
  std::vector<const TensorRef *> result;
  collectTensors(*this, result);
  return result;
}

llvm::Expected<ModelConfig> parseModelConfig(llvm::StringRef text, llvm::StringRef fileName,
                                             const ConfigLimits &limits) {
  llvm::Expected<json::Value> value = parsePythonJson(text, fileName, limits);
  if (!value)
    return value.takeError();
  return parseModelObject(*value, fileName);
}

llvm::Expected<ModelConfig> parseModelObject(const json::Value &value, llvm::StringRef fileName,
                                             KerasVersion version) {
  const json::Object *object = value.getAsObject();
  const std::optional<llvm::StringRef> className =
      object ? object->getString("class_name") : std::nullopt;
  if (object && object->get("compiler_version") && object->get("source_hash"))
    return inputError(fileName, "is the manifest of a compiled model, which holds no layers; give "
                                "the Keras model that was compiled (.keras, .h5 or its JSON); what "
                                "is compiled runs by the name of its folder (mpc-run predict "
                                "FOLDER)");
  if (!className)
    return inputError(fileName, "the JSON is no Keras object (no 'class_name'); expected the "
                                "output of model.to_json() or a .keras file's config.json");
  if (!Parser::isModel(*object) &&
      object->getString("module").value_or("").starts_with("keras_hub."))
    return inputError(fileName,
                      "the model is of class '" + *className +
                          "' of KerasHub, whose files hold its arguments and no graph; save "
                          "keras.Model(model.input, model.output) instead, and the models inside "
                          "of it in the same way (docs/keras-hub.md)");
  if (!Parser::isModel(*object))
    return inputError(fileName, "the model is of class '" + *className +
                                    "', and its config holds no graph of layers; expected a "
                                    "Functional or Sequential model of Keras: classes with a "
                                    "constructor or a call of their own keep their graph in "
                                    "Python code; rebuild the model with the functional API, and "
                                    "save keras.Model(inputs, outputs)");
  Parser parser(fileName, version);
  std::unique_ptr<ModelConfig> model = parser.parseModel(*object, "");
  if (parser.errors)
    return std::move(parser.errors);
  return std::move(*model);
}

llvm::Expected<LayerConfig> parseLayerConfig(const llvm::json::Value &value,
                                             llvm::StringRef fileName, llvm::StringRef path,
                                             KerasVersion version) {
  Parser parser(fileName, version);
  LayerConfig layer = parser.parseLayer(value, 0, path);
  if (parser.errors)
    return std::move(parser.errors);
  return std::move(layer);
}

} // namespace mpc::keras
