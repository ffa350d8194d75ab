// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Keras's activation functions as compositions of mpc ops, op for op as TensorFlow's backend of
// Keras 3.15 computes them (keras/src/activations/activations.py, backend/tensorflow/nn.py): under
// 16-bit policies each op rounds, so the composition is part of the result.
#ifndef MPC_LIB_IMPORT_KERAS_ACTIVATIONFUNCTIONS_H
#define MPC_LIB_IMPORT_KERAS_ACTIVATIONFUNCTIONS_H

#include "lib/Import/Keras/LayerBuilder.h"

namespace mpc::keras {

/// The activation that the config entry `key` names, applied to `input`. After an error `input`
/// itself, which has the shape that the layers behind would see.
mlir::Value applyConfiguredActivation(LayerBuilder &builder, llvm::StringRef key,
                                      mlir::Value input);

using ActivationFn = mlir::Value (*)(ValueBuilder &, mlir::Value);
/// The activation that the name means in this version of Keras, with its default arguments; null
/// for an unknown name.
ActivationFn findActivation(llvm::StringRef name, KerasVersion version = {});

/// relu(x, negative_slope, max_value, threshold); no maximum when absent.
mlir::Value applyRelu(ValueBuilder &builder, mlir::Value input, double negativeSlope,
                      std::optional<double> maxValue, double threshold);
mlir::Value applyLeakyRelu(ValueBuilder &builder, mlir::Value input, double negativeSlope);
mlir::Value applyElu(ValueBuilder &builder, mlir::Value input, double alpha);
mlir::Value applyCelu(ValueBuilder &builder, mlir::Value input, double alpha);
mlir::Value applyGelu(ValueBuilder &builder, mlir::Value input, bool approximate);
mlir::Value applyHardShrink(ValueBuilder &builder, mlir::Value input, double threshold);
mlir::Value applySoftShrink(ValueBuilder &builder, mlir::Value input, double threshold);
mlir::Value applySquareplus(ValueBuilder &builder, mlir::Value input, double shift);
/// Along an axis that is not the batch.
mlir::Value applyGlu(ValueBuilder &builder, mlir::Value input, int64_t axis);
mlir::Value applySparsemax(ValueBuilder &builder, mlir::Value input, int64_t axis);

} // namespace mpc::keras

#endif
