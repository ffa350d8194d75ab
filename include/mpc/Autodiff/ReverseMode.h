// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reverse-mode differentiation of straight-line mpc code.
#ifndef MPC_AUTODIFF_REVERSEMODE_H
#define MPC_AUTODIFF_REVERSEMODE_H

#include "mlir/IR/Builders.h"

namespace mpc {

/// Emits at the builder's insertion point, which must be behind everything that `dependent` depends
/// on, code that computes the cotangents of `independents` when `dependent` has the cotangent
/// `seed` (of its type). `gradients[i]` has the type of `independents[i]`, or is null when nothing
/// flows from it to `dependent`. Cotangents of a value with several uses are added in the value's
/// type, in the reverse order of the uses. New ops have the location `<layer>/gradient`. Fails with
/// an error at an op that derivatives would have to pass and that has no rule.
llvm::LogicalResult buildGradients(mlir::OpBuilder &builder, mlir::Value dependent,
                                   mlir::Value seed, llvm::ArrayRef<mlir::Value> independents,
                                   llvm::SmallVectorImpl<mlir::Value> &gradients);

/// In the block of `seed`: all that reads one of several equal forward values (in front of `seed`)
/// reads the first of them, so that it is kept once. Behind buildGradients, which sums cotangents
/// as the forward pass is written: equal casts of two layers are two terms of the wider sum.
void shareEqualValues(mlir::Operation *seed);

/// In the block of `seed`: where backward code (behind `seed`) reads the result of a forward op
/// that is cheap to recompute (a cast, a broadcast) and its operands are kept anyway or take less
/// memory, gives backward code a copy of the op instead. Values that do not depend on the batch are
/// left alone.
void recomputeCheapValues(mlir::Operation *seed);

/// One analysis remark "saved-for-backward" of category mpc-autodiff per value that backward code
/// (behind `seed`) reads of forward code: its op, its type and bytes per sample.
void remarkSavedValues(mlir::Operation *seed);

} // namespace mpc

#endif // MPC_AUTODIFF_REVERSEMODE_H
