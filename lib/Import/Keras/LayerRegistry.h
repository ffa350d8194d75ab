// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The closed table of layer classes that mpc imports. To add one, write its function in the
// family's file under Layers/ and give it one line in that family's table.
#ifndef MPC_LIB_IMPORT_KERAS_LAYERREGISTRY_H
#define MPC_LIB_IMPORT_KERAS_LAYERREGISTRY_H

#include "lib/Import/Keras/CompositeBuilder.h"

namespace mpc::keras {

/// Emits the layer's body and returns its (first) result, others through LayerBuilder::addOutput;
/// null after an error.
using LayerImportFn = mlir::Value (*)(LayerBuilder &);

/// For wrappers whose parts are layers with policies of their own: several mpc.layer ops in
/// @forward, and none of the wrapper itself.
using LayerWholeFn = bool (*)(GraphImporter &, const LayerConfig &layer, const Node *node,
                              llvm::StringRef path, bool trainable,
                              llvm::ArrayRef<mlir::Value> inputs,
                              llvm::SmallVector<mlir::Value> &outputs);

/// For layers whose parts are layers of their own: makes several mpc.layer ops in @forward and
/// appends the results; false after an error.
using CompositeImportFn = bool (*)(CompositeBuilder &, llvm::SmallVectorImpl<mlir::Value> &outputs);

/// How the mask of an input (`_keras_mask`) passes on to the outputs.
enum class Masking {
  Stops,    ///< outputs have none, unless the importer calls LayerBuilder::setMask
  PassesOn, ///< `supports_masking` with the default compute_mask: output i has that of input i
  TakesOff, ///< call() takes the masks off its inputs: layers that read these later find none
};

struct LayerEntry {
  llvm::StringLiteral className;
  LayerImportFn import; ///< null where one of the other two is given
  Masking masking = Masking::Stops;
  LayerWholeFn importWhole = nullptr;
  /// Every place along the axes behind the batch, or between it and the last, is computed alike, so
  /// that TimeDistributed needs no loop.
  bool onLastAxis = false;
  CompositeImportFn importComposite = nullptr;
  /// The Python class where Keras exports it under another name: the weights' group is called after
  /// it.
  llvm::StringLiteral pythonName = "";
};

constexpr LayerEntry compositeLayer(llvm::StringLiteral className, CompositeImportFn import,
                                    llvm::StringLiteral pythonName = "",
                                    Masking masking = Masking::Stops) {
  return {className, nullptr, masking, nullptr, /*onLastAxis=*/false, import, pythonName};
}

/// The families' tables.
llvm::ArrayRef<LayerEntry> coreLayers();
llvm::ArrayRef<LayerEntry> activationLayers();
llvm::ArrayRef<LayerEntry> mergingLayers();
llvm::ArrayRef<LayerEntry> convolutionLayers();
llvm::ArrayRef<LayerEntry> pipelineLayers();
llvm::ArrayRef<LayerEntry> poolingLayers();
llvm::ArrayRef<LayerEntry> resamplingLayers();
llvm::ArrayRef<LayerEntry> reshapingLayers();
llvm::ArrayRef<LayerEntry> regularizationLayers();
llvm::ArrayRef<LayerEntry> preprocessingLayers();
llvm::ArrayRef<LayerEntry> categoryLayers();
llvm::ArrayRef<LayerEntry> augmentationLayers();
llvm::ArrayRef<LayerEntry> colorAugmentationLayers();
llvm::ArrayRef<LayerEntry> regionAugmentationLayers();
llvm::ArrayRef<LayerEntry> applicationLayers();
llvm::ArrayRef<LayerEntry> recurrentLayers();
llvm::ArrayRef<LayerEntry> recurrentWrappers();
llvm::ArrayRef<LayerEntry> einsumDenseLayers();
llvm::ArrayRef<LayerEntry> embeddingLayers();
llvm::ArrayRef<LayerEntry> imageContrastLayers();
llvm::ArrayRef<LayerEntry> normalizationLayers();
llvm::ArrayRef<LayerEntry> attentionLayers();
llvm::ArrayRef<LayerEntry> multiHeadAttentionLayers();
llvm::ArrayRef<LayerEntry> spectralNormalizationLayers();
llvm::ArrayRef<LayerEntry> spectrogramLayers();
/// The layers of KerasHub (keras_hub.layers), which registers its classes.
llvm::ArrayRef<LayerEntry> hubAttentionLayers();
llvm::ArrayRef<LayerEntry> hubEmbeddingLayers();
llvm::ArrayRef<LayerEntry> hubHeadLayers();
llvm::ArrayRef<LayerEntry> hubRotaryLayers();
llvm::ArrayRef<LayerEntry> hubTransformerLayers();

/// Adds a class of a user's, under the `registered_name` that files give it. Before any import, by
/// one thread.
void registerLayer(llvm::StringRef registeredName, const LayerEntry &entry);

/// Whether the class is one of KerasHub's (KerasNLP's, as it was called before).
bool isOfHub(llvm::StringRef registeredName);

/// The entry of a built-in class of Keras or KerasHub, or of one that was registered; else null. A
/// class of the user's that has the name of one of Keras's is not mistaken for it: its module is
/// not Keras's.
const LayerEntry *findLayer(const LayerConfig &layer);

} // namespace mpc::keras

#endif
