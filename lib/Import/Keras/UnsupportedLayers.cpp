// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Import/Keras/UnsupportedLayers.h"

#include "lib/Import/Keras/LayerArguments.h"
#include "lib/Import/Keras/LayerRegistry.h"
#include "lib/Import/Keras/LayerTree.h"
#include "lib/Import/Keras/Legacy/NamedFunctions.h"
#include "lib/Import/Keras/Legacy/TensorFlowImport.h"
#include "lib/Import/Keras/Legacy/TensorFlowNodes.h"
#include "lib/Import/Keras/Operations/OperationBuilder.h"

#include "llvm/ADT/StringSwitch.h"

namespace mpc::keras {

/// Advice to the owner of a layer class of Keras that is not supported.
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

void reportUnsupported(const ModelConfig &model, llvm::StringRef path, ImportReport &report,
                       LayerSet &unsupported) {
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
      reportUnsupported(*layer.model, place, report, unsupported);
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

} // namespace mpc::keras
