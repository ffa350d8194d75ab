// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Import/Keras/Legacy/NamedFunctions.h"

#include "lib/Import/Keras/Legacy/TensorFlowBuilder.h"

#include "lib/Import/Keras/GraphImporter.h"

namespace mpc::keras {
namespace {

namespace json = llvm::json;
using mlir::Value;

/// A function by its name in Python and the module that holds it. Both are empty where the config
/// holds code: Python's bytecode, or an object with it.
struct NamedFunction {
  explicit NamedFunction(const json::Object &config) {
    if (std::optional<llvm::StringRef> text = config.getString("function")) {
      if (config.getString("function_type").value_or("function") == "function") {
        name = *text;
        module = config.getString("module").value_or("");
      }
      return;
    }
    const json::Object *object = config.getObject("function");
    if (object && object->getString("class_name").value_or("") == "function") {
      name = object->getString("config").value_or("");
      module = object->getString("module").value_or("");
    }
  }

  /// Null for a function that is not supported, or the author's own.
  const TensorFlowFunction *find() const {
    llvm::StringRef plain = name;
    plain.consume_back("_v2");
    auto lookUp = [&](llvm::StringRef prefix) {
      return findTensorFlowFunction((prefix + plain).str());
    };
    const bool isKeras =
        module.starts_with("keras") || module.starts_with("tf_keras") || module.contains(".keras.");
    if (isKeras && module.contains("backend"))
      return lookUp("keras.backend.");
    if (isKeras && module.contains("activations"))
      return lookUp("keras.activations.");
    if (!module.starts_with("tensorflow") && module != "tf" && !module.starts_with("tf."))
      return nullptr;
    for (llvm::StringRef prefix : {"", "math.", "nn.", "linalg.", "image."})
      if (const TensorFlowFunction *function = lookUp(prefix))
        return function;
    return nullptr;
  }

  llvm::StringRef name, module;
};

Argument literalOf(const json::Value &value) {
  Argument argument;
  if (const json::Array *array = value.getAsArray()) {
    argument.kind = Argument::Kind::List;
    for (const json::Value &item : *array)
      argument.items.push_back(literalOf(item));
  } else {
    argument.constant = value;
  }
  return argument;
}

/// The layer's input, or the list of its inputs, and the config's `arguments` as keywords.
Node callOf(const LayerConfig &layer, size_t inputs) {
  Node node;
  Argument &first = node.arguments.emplace_back();
  first.kind = inputs == 1 ? Argument::Kind::Tensor : Argument::Kind::List;
  if (inputs != 1)
    for (size_t i = 0; i < inputs; ++i)
      first.items.emplace_back().kind = Argument::Kind::Tensor;
  const json::Object *arguments = layer.config.getObject("arguments");
  if (!arguments)
    return node;
  llvm::SmallVector<llvm::StringRef> names;
  for (const auto &[name, value] : *arguments)
    names.push_back(name);
  llvm::sort(names); // results must not depend on hashing
  for (llvm::StringRef name : names)
    node.keywords.emplace_back(name.str(), literalOf(*arguments->get(name)));
  return node;
}

bool importNamedFunction(GraphImporter &importer, const LayerConfig &layer, const Node *node,
                         llvm::StringRef path, bool trainable, llvm::ArrayRef<Value> inputs,
                         llvm::SmallVector<Value> &outputs) {
  const NamedFunction named(layer.config);
  const TensorFlowFunction *function = named.find();
  if (!function) { // in a wrapper: others are reported before
    importer.report.error(path, whyLambdaIsRefused(layer));
    return false;
  }
  const Node call = callOf(layer, inputs.size());
  return importer.emitLayer(
      layer, node, path, trainable, inputs, outputs,
      [&](LayerBuilder &b) -> Value {
        TensorFlowBuilder t(importer, b.builder, b.location, *function, call, b.getInputs());
        Value result = t.hasFailed() ? Value() : function->import(t);
        for (Value further : t.furtherResults)
          b.addOutput(further);
        return t.hasFailed() ? b.error("function '" + named.name + "' of '" + named.module +
                                       "': " + t.getError())
                             : result;
      },
      /*passesMasksOn=*/false);
}

constexpr LayerEntry kNamedFunctionLayers[] = {
    {"Lambda", nullptr, Masking::Stops, importNamedFunction},
};

} // namespace

std::string whyLambdaIsRefused(const LayerConfig &layer) {
  const NamedFunction named(layer.config);
  if (named.name.empty())
    return "Lambda layers hold Python code, which is never run; replace the layer by layers of "
           "Keras";
  if (const json::Value *mask = layer.config.get("mask"); mask && mask->getAsString())
    return "a Lambda layer with a function for its mask is not supported; replace the layer by "
           "layers of Keras";
  if (named.find())
    return "";
  return "the Lambda layer calls the function '" + named.name.str() + "' of '" +
         (named.module.empty() ? "an unnamed module" : named.module.str()) +
         "', whose code is not in the file, and which is none of "
         "docs/generated/tensorflow-functions.md; "
         "replace the layer by layers of Keras";
}

llvm::ArrayRef<LayerEntry> namedFunctionLayers() { return kNamedFunctionLayers; }

} // namespace mpc::keras
