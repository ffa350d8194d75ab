// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Elementwise linalg.generic ops as parts of one another: how mpc-fuse-linalg and mpc-rematerialize
// merge them, whatever they decide by.
#ifndef MPC_LIB_TRANSFORMS_MERGEKERNELS_H
#define MPC_LIB_TRANSFORMS_MERGEKERNELS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/PatternMatch.h"

namespace mpc {

/// The bytes of one element.
int64_t bytesOf(mlir::Value value);

/// In ops of arithmetic. Approximations of functions (mpc-expand-math) count as about what they
/// are, casts as nothing.
int64_t workOf(mlir::Operation *op);

/// Whether the two would have no more operands and work together than one kernel takes, the
/// producer being merged for so many operands of the consumer.
bool fitOneKernel(mlir::linalg::GenericOp producer, mlir::linalg::GenericOp consumer,
                  size_t times = 1);

/// Merges what defines the operand into the operand's owner; the merged op, or null. `repeats`: the
/// producer keeps its other users, which otherwise read the merged op's result.
mlir::linalg::GenericOp mergeProducer(mlir::IRRewriter &rewriter, mlir::OpOperand *operand,
                                      bool repeats);

/// Calls merge(op), which returns the op that took its place or null, for each generic op of the
/// entry in the order of the program, loops after what is around them, until nothing changes.
void mergeKernels(
    mlir::func::FuncOp entry,
    llvm::function_ref<mlir::linalg::GenericOp(mlir::IRRewriter &, mlir::linalg::GenericOp)> merge);

} // namespace mpc

#endif // MPC_LIB_TRANSFORMS_MERGEKERNELS_H
