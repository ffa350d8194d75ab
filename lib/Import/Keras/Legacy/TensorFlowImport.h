// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Layers that record TensorFlow functions: which can be imported, and their import.
#ifndef MPC_LIB_IMPORT_KERAS_LEGACY_TENSORFLOWIMPORT_H
#define MPC_LIB_IMPORT_KERAS_LEGACY_TENSORFLOWIMPORT_H

#include "mpc/Import/Keras/Config.h"

#include "mlir/IR/Value.h"

#include "llvm/ADT/SmallVector.h"

namespace mpc::keras {

class GraphImporter;

/// Why such a layer (isTensorFlowClass) is not supported, whatever it is called with; empty for one
/// that is.
std::string whyTensorFlowIsRefused(const LayerConfig &layer);

/// Such a layer's call: plain ops of @forward, as of an operation of keras.ops. Whether there are
/// results.
bool importTensorFlow(GraphImporter &importer, const LayerConfig &layer, const Node &node,
                      llvm::StringRef path, llvm::ArrayRef<mlir::Value> tensors,
                      llvm::SmallVector<mlir::Value> &outputs);

} // namespace mpc::keras

#endif
