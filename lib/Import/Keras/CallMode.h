// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The argument `training` of calls in files of Keras 2, where it holds whatever the model does. In
// Keras 3, fit and predict override it.
#ifndef MPC_LIB_IMPORT_KERAS_CALLMODE_H
#define MPC_LIB_IMPORT_KERAS_CALLMODE_H

#include "mpc/Import/Keras/Config.h"

#include "mlir/IR/Block.h"

namespace mpc::keras {

/// Whether a layer is called for training or for inference: as the model is, or always the one.
enum class CallMode { OfModel, Inference, Training };

/// The mode that a call names, else `outer`, the one of the call around it (tf_keras
/// base_layer.py, __call__).
CallMode readCallMode(const LayerConfig &layer, const Node *node, CallMode outer);

/// Gives a layer's body, which yields `results`, the values of one mode in training and inference.
/// False where the training draws random numbers: predictions have none, and the body stays.
bool fixMode(mlir::Block &body, llvm::MutableArrayRef<mlir::Value> results, CallMode mode);

} // namespace mpc::keras

#endif
