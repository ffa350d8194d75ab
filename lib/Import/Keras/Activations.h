// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Keras's activation functions as compositions of mpc ops, op for op as TensorFlow's backend of
// Keras 3.15 computes them (keras/src/activations/activations.py, backend/tensorflow/nn.py): under
// 16-bit policies each op rounds, so the composition is part of the result.
#ifndef MPC_LIB_IMPORT_KERAS_ACTIVATIONS_H
#define MPC_LIB_IMPORT_KERAS_ACTIVATIONS_H

#include "LayerBuilder.h"

namespace mpc::keras {

/// The activation that the config entry `key` names, applied to `input`; null after an error.
mlir::Value applyConfiguredActivation(LayerBuilder &builder, llvm::StringRef key,
                                      mlir::Value input);

/// relu(x, negative_slope, max_value, threshold); no maximum when absent.
mlir::Value applyRelu(LayerBuilder &builder, mlir::Value input, double negativeSlope,
                      std::optional<double> maxValue, double threshold);
mlir::Value applyLeakyRelu(LayerBuilder &builder, mlir::Value input, double negativeSlope);
mlir::Value applyElu(LayerBuilder &builder, mlir::Value input, double alpha);

} // namespace mpc::keras

#endif
