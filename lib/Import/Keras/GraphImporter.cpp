// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The frame of the import: numbering and weight groups of layers, and the list of unsupported ones.
// Calls.cpp walks the graph, Variables.cpp has the variables, LayerPolicies.cpp the policies and
// ForwardSignature.cpp the end.
#include "GraphImporter.h"

#include "Dtype.h"
#include "LayerArguments.h"
#include "LayerRegistry.h"
#include "Legacy/NamedFunctions.h"
#include "Legacy/TensorFlowImport.h"
#include "Legacy/TensorFlowNodes.h"
#include "Operations/OperationBuilder.h"
#include "mpc/Import/Keras/InputError.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

namespace mpc::keras {

using mlir::Value;

namespace {

/// Whether a config, or one of an object inside it, says `stateful`, or `time_major`, where what
/// Input calls the batch are steps.
bool saysStateful(const llvm::json::Object &config, unsigned depth = 0) {
  if (readFlag(config.get("stateful")).value_or(false) ||
      readFlag(config.get("time_major")).value_or(false))
    return true;
  return depth < 16 && llvm::any_of(
                           config,
                           [&](const auto &entry) {
                             const llvm::json::Object *inner = entry.second.getAsObject();
                             return inner && saysStateful(*inner, depth + 1);
                           });
}

bool hasStatefulLayer(const ModelConfig &model) {
  return llvm::any_of(model.layers, [](const LayerConfig &layer) {
    return layer.model ? hasStatefulLayer(*layer.model) : saysStateful(layer.config);
  });
}

} // namespace

GraphImporter::GraphImporter(mlir::MLIRContext &context, const ModelConfig &model,
                             llvm::StringRef fileName, const ImportOptions &options,
                             const std::map<std::string, std::string> &vocabularies)
    : report(fileName, options.readWeights), tree(model, report, vocabularies),
      policies(context, options.policy, report),
      forward(context, fileName, options.moduleName.empty() ? model.name : options.moduleName),
      variables(tree, forward, report, model.trainable), model(model), options(options) {}

/// What to do instead of a layer class of Keras that is not supported.
static llvm::StringRef adviceFor(llvm::StringRef className) {
  return llvm::StringSwitch<llvm::StringRef>(className)
      .Cases({"StringLookup", "TextVectorization"},
             "a compiled model takes numbers, no strings; save the model that begins behind this "
             "layer, and give it the indices")
      .Cases({"Hashing", "HashedCrossing"},
             "save the model that begins behind this layer, and give it the layer's results")
      .Default("docs/generated/layers.md lists what mpc supports");
}

/// Whether the class is none of Keras's, or hides one of its name.
static bool isOfAuthor(const LayerConfig &layer) {
  const llvm::StringRef module = layer.module, name = layer.className;
  return (!module.empty() && !module.starts_with("keras")) || name.contains('>') ||
         llvm::StringRef(layer.registeredName).contains('>') || !isClassOfKeras(name);
}

void GraphImporter::reportUnsupported(const ModelConfig &model, llvm::StringRef path) {
  for (const LayerConfig &layer : model.layers) {
    const std::string place = join(path, layer.name);
    auto refuse = [&](const llvm::Twine &message) {
      report.error(place, message);
      unsupported.insert(&layer);
    };
    if (isTensorFlowClass(layer.className)) {
      if (const std::string why = whyTensorFlowIsRefused(layer); !why.empty())
        refuse(why);
    } else if (isOperation(layer)) {
      if (!findOperation(layer))
        refuse("unsupported operation '" + layer.className +
               "' of keras.ops; use the layer of Keras that does the same");
    } else if (layer.model) {
      reportUnsupported(*layer.model, place);
    } else if (layer.className == "Lambda") {
      if (const std::string why = whyLambdaIsRefused(layer); !why.empty())
        refuse(why);
    } else if (isOfHub(layer.registeredName) && !findLayer(layer)) {
      // A task's file holds its backbone so.
      const bool isModel = llvm::StringRef(layer.module).contains(".models.");
      refuse("unsupported class '" + layer.className + "' of KerasHub; " +
             (isModel ? "where it is a model, put keras.Model(it.input, it.output) in "
                        "its place (docs/keras-hub.md)"
                      : "docs/keras-hub.md lists what mpc supports"));
    } else if (layer.className != "InputLayer" && !findLayer(layer)) {
      llvm::StringRef name = layer.className;
      name = name.substr(name.rfind('>') + 1); // "Custom>QDense"
      if (isOfAuthor(layer))
        refuse("'" + name +
               "' is a class of the model's author: its Python code is not in the file; rebuild it "
               "of layers of Keras, or end the model in front of it and begin another behind it");
      else
        refuse("unsupported layer class '" + name + "'; " + adviceFor(name));
    } else {
      reportUnknownArguments(layer,
                             [&](const llvm::Twine &message) { report.error(place, message); });
    }
  }
}

static bool makesMask(const LayerConfig &layer) {
  return layer.className == "Masking" || (layer.className == "Embedding" &&
                                          readFlag(layer.config.get("mask_zero")).value_or(false));
}

/// Whether the model has a layer that makes masks.
static bool hasMasks(const ModelConfig &model) {
  return llvm::any_of(model.layers, [](const LayerConfig &layer) {
    return layer.model ? hasMasks(*layer.model) : makesMask(layer);
  });
}

bool GraphImporter::leavesMaskedStepsOut(const ModelConfig &model) {
  return llvm::all_of(model.layers, [](const LayerConfig &layer) {
    if (layer.model)
      return leavesMaskedStepsOut(*layer.model);
    if (llvm::is_contained({"Add", "Average", "Bidirectional", "GRU", "GlobalAveragePooling1D",
                            "InputLayer", "LSTM", "Maximum", "Minimum", "Multiply", "RNN",
                            "SimpleRNN", "Subtract"},
                           layer.className))
      return true;
    if (layer.className == "GroupNormalization" || layer.className == "Softmax")
      return false; // over the steps, too
    const LayerEntry *entry = findLayer(layer);
    return makesMask(layer) || (entry && entry->masking == Masking::PassesOn);
  });
}

mlir::OwningOpRef<mlir::ModuleOp> GraphImporter::run() {
  reportUnsupported(model, "");

  keepsBatch = hasStatefulLayer(model);
  masksCoverPadding = hasMasks(model) && leavesMaskedStepsOut(model);
  Values outputs;
  if (model.inputs.kind == Argument::Kind::Dict)
    for (const auto &[key, input] : llvm::zip_equal(model.inputs.keys, model.inputs.items))
      if (input.kind == Argument::Kind::Tensor)
        inputKeys[input.tensor.layer] = key;
  if (!importModel(model, "", /*trainable=*/true, {}, outputs) && !report.hasErrors())
    report.error("", "the model could not be imported"); // every failure reports; this one did not
  if (outputs.empty() && !report.hasErrors())
    report.error("", "the model has no outputs");
  for (const auto &[name, shape] : options.inputShapes)
    if (!closedInputs.count(name) && !report.hasErrors())
      report.error("", "--input-shape=" + llvm::Twine(name) +
                           ": the model has no such input; it has " +
                           llvm::join(forward.getInputNames(), ", "));
  if (report.hasErrors())
    return {};
  outputsAreDictionary = model.outputs.kind == Argument::Kind::Dict &&
                         llvm::all_of(model.outputs.items, [](const Argument &item) {
                           return item.kind == Argument::Kind::Tensor;
                         });
  if (model.kind == ModelConfig::Kind::Sequential)
    outputNames.push_back(model.layers.back().name);
  else if (outputsAreDictionary) // Keras then prefers its keys
                                 // (keras/src/trainers/compile_utils.py)
    outputNames.append(model.outputs.keys.begin(), model.outputs.keys.end());
  else
    for (const TensorRef *tensor : model.outputs.tensors())
      outputNames.push_back(tensor->layer);
  return forward.finish(variables, outputs);
}

} // namespace mpc::keras
