// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Ops of the mpc dialect that a contraction does besides its product. They are lowered behind all
// others: by then the contractions are there that read and write their operands.
#ifndef MPC_LIB_CONVERSION_MPCTOLINALG_PRODUCTPARTS_H
#define MPC_LIB_CONVERSION_MPCTOLINALG_PRODUCTPARTS_H

#include "dialects/mpc/IR/Mpc.h"
#include "mlir/IR/PatternMatch.h"

namespace mpc {

/// Whether the op is a cotangent where relu's result is greater than 0, and else 0.
bool isReluDerivative(SelectOp op);
/// Whether the op rounds an input of the model from f32 to 16 bits.
bool isInputCast(CastOp op);
/// Whether the op sums, in float32, all elements that have the same last index.
bool isColumnSum(ReduceOp op);
/// Whether the op gives float32 for 16 bits.
bool isWideningCast(CastOp op);

/// These give the op's work to a contraction, or say in a remark why it stays a kernel.
void takeReluDerivative(mlir::IRRewriter &rewriter, SelectOp derivative);
void takeGelu(mlir::IRRewriter &rewriter, GeluOp gelu);
void takeGeluGradient(mlir::IRRewriter &rewriter, GeluGradientOp gradient);
/// With `rounded` sums have the type of the contraction's result.
void takeColumnSum(mlir::IRRewriter &rewriter, ReduceOp sum, bool rounded);
void takeInputCast(mlir::IRRewriter &rewriter, CastOp cast);

/// The kinds of ops that contractions take over.
struct ProductParts {
  bool reluMasks, gelu, columnSums, roundedSums, inputCasts;

  /// Whether the op, or one that reads it, may be taken over.
  bool concern(mlir::Operation *op) const;

  /// Lets contractions take over what they can; an op's operands are there before the op, so that
  /// one walk sees them as they will be.
  void takeFrom(mlir::Operation *function) const;

private:
  bool areOf(mlir::Operation *op) const;
};

} // namespace mpc

#endif // MPC_LIB_CONVERSION_MPCTOLINALG_PRODUCTPARTS_H
