// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Finds the contractions that may read a variable's integers instead of floating copies.
#ifndef MPC_LIB_CONVERSION_MPCTOLINALG_NARROWWEIGHTS_H
#define MPC_LIB_CONVERSION_MPCTOLINALG_NARROWWEIGHTS_H

#include "dialects/mpc/IR/Mpc.h"

namespace mpc {

/// On an mpc.contract, during the conversion: the numbers of the function's arguments that stand
/// for the right operand. The first one has its i8 (or packed int4); of int4 in blocks there follow
/// those of scales, zeros and of the block of each row; unsigned ones are stored transposed, two or
/// one per byte, and what divides each row may be a fifth.
inline constexpr llvm::StringLiteral kNarrowWeightsAttr = "mpc.narrow_weights";

/// Marks the contractions of a function that may read integers.
void markNarrowWeights(mlir::func::FuncOp function);

/// A marked contraction reads these in place of its right operand.
struct NarrowWeights {
  mlir::Value numbers;
  mlir::Value scale, zero, places; ///< of blocks; null without
  mlir::Value divisors;            ///< of rows; null without
  bool isTransposed = false;       ///< numbers, scale and zero
  /// Whether the numbers are a matrix already: packed, or in blocks.
  bool isMatrix = false;
};

/// Nothing for a contraction that is not marked.
std::optional<NarrowWeights> readNarrowWeights(ContractOp op);

} // namespace mpc

#endif
