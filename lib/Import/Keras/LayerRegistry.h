// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The closed table of layer classes that mpc imports. To add one, write its function in the
// family's file under Layers/ and give it one line in that family's table.
#ifndef MPC_LIB_IMPORT_KERAS_LAYERREGISTRY_H
#define MPC_LIB_IMPORT_KERAS_LAYERREGISTRY_H

#include "LayerBuilder.h"

namespace mpc::keras {

/// Emits the layer's body and returns its result; null after an error.
using LayerImportFn = mlir::Value (*)(LayerBuilder &);

struct LayerEntry {
  llvm::StringLiteral className;
  LayerImportFn import;
};

/// The families' tables.
llvm::ArrayRef<LayerEntry> coreLayers();
llvm::ArrayRef<LayerEntry> activationLayers();
llvm::ArrayRef<LayerEntry> mergingLayers();
llvm::ArrayRef<LayerEntry> reshapingLayers();
llvm::ArrayRef<LayerEntry> regularizationLayers();
llvm::ArrayRef<LayerEntry> preprocessingLayers();

/// The entry of a built-in class of Keras, or null. A class of the user's that has the same name is
/// not found: its module is not Keras's.
const LayerEntry *findLayer(const LayerConfig &layer);

} // namespace mpc::keras

#endif
