// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Activations as compositions of mpc ops, op for op as TensorFlow's backend of Keras 3.15 computes
// them (backend/tensorflow/nn.py): under 16-bit policies each op rounds, so the composition is part
// of the result.
#ifndef MPC_LIB_IMPORT_COMMON_ACTIVATIONS_H
#define MPC_LIB_IMPORT_COMMON_ACTIVATIONS_H

#include "lib/Import/Common/ValueBuilder.h"

namespace mpc {

/// A tie with 6 belongs to the constant: the gradient is zero there.
mlir::Value applyRelu6(ValueBuilder &builder, mlir::Value input);
/// exp(x) - 1 as two roundings, as TensorFlow's elu and selu have it; the minimum keeps the branch
/// that select drops finite, whose gradient would otherwise be 0 * inf.
mlir::Value applyExpMinusOne(ValueBuilder &builder, mlir::Value input);
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

} // namespace mpc

#endif
