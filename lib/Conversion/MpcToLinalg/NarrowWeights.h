// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Finds the contractions that may read a variable's integers instead of floating copies.
#ifndef MPC_LIB_CONVERSION_MPCTOLINALG_NARROWWEIGHTS_H
#define MPC_LIB_CONVERSION_MPCTOLINALG_NARROWWEIGHTS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mpc {

/// On an mpc.contract, during the conversion: the numbers of the function's arguments that stand
/// for the right operand. The first one has its i8 (or packed int4); of int4 in blocks there follow
/// those of scales, zeros and of the block of each row; unsigned ones are stored transposed, two or
/// one per byte, and what divides each row may be a fifth.
inline constexpr llvm::StringLiteral kNarrowWeightsAttr = "mpc.narrow_weights";

void markNarrowWeights(mlir::func::FuncOp function);

} // namespace mpc

#endif
