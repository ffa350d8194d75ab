// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RNN layers, whose cells are layers with dtype policies of their own.
#ifndef MPC_LIB_IMPORT_KERAS_LAYERS_CELLPOLICIES_H
#define MPC_LIB_IMPORT_KERAS_LAYERS_CELLPOLICIES_H

#include "lib/Import/Keras/GraphImporter.h"

namespace mpc::keras {

/// The loop of an RNN whose cells compute as the body does.
mlir::Value importRnn(LayerBuilder &b);

/// RNN of any cells.
bool importRnnLayer(GraphImporter &importer, const LayerConfig &layer, const Node *node,
                    llvm::StringRef path, bool trainable, llvm::ArrayRef<mlir::Value> inputs,
                    llvm::SmallVector<mlir::Value> &outputs);

} // namespace mpc::keras

#endif
