// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Layers that Keras 2 has and Keras 3 does not.
#ifndef MPC_LIB_IMPORT_KERAS_LEGACY_LAYERS_H
#define MPC_LIB_IMPORT_KERAS_LEGACY_LAYERS_H

#include "lib/Import/Keras/LayerRegistry.h"

namespace mpc::keras {

llvm::ArrayRef<LayerEntry> layersOfKeras2();

bool importAddedLoss(GraphImporter &importer, const LayerConfig &layer, const Node *node,
                     llvm::StringRef path, bool trainable, llvm::ArrayRef<mlir::Value> inputs,
                     llvm::SmallVector<mlir::Value> &outputs);
bool importAddedMetric(GraphImporter &importer, const LayerConfig &layer, const Node *node,
                       llvm::StringRef path, bool trainable, llvm::ArrayRef<mlir::Value> inputs,
                       llvm::SmallVector<mlir::Value> &outputs);
mlir::Value importCudnnRecurrence(LayerBuilder &b);
mlir::Value importLocallyConnected1D(LayerBuilder &b);
mlir::Value importLocallyConnected2D(LayerBuilder &b);

} // namespace mpc::keras

#endif
