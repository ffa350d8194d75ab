// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The one place that writes gelu down in scalar code: mpc.gelu, its derivative, and the pass that
// finds both again.
#ifndef MPC_DIALECTS_MPC_IR_GELU_H
#define MPC_DIALECTS_MPC_IR_GELU_H

#include "mlir/IR/Builders.h"

namespace mpc {

/// gelu(x) = 0.5 x (1 + tanh(kGeluScale (x + kGeluCube x^3))); kGeluScale is sqrt(2 / pi).
constexpr double kGeluScale = 0.7978845608028654, kGeluCube = 0.044715;
/// From here on x^2 makes no difference: the tanh is 1 in every dtype.
constexpr double kGeluSquareBound = 1600;

/// gelu of a float32 or float64.
mlir::Value buildGelu(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value x);

/// `cotangent` times the derivative of gelu at x.
mlir::Value buildGeluGradient(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value cotangent,
                              mlir::Value x);

} // namespace mpc

#endif // MPC_DIALECTS_MPC_IR_GELU_H
