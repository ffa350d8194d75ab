// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The rewrites of mpc-fuse and mpc-pad-dims.
#ifndef MPC_LIB_TRANSFORMS_FUSION_H
#define MPC_LIB_TRANSFORMS_FUSION_H

#include "dialects/mpc/IR/Mpc.h"
#include "mlir/IR/PatternMatch.h"
#include "mpc/Analysis/FusionRemark.h"
#include "mpc/Analysis/Reshapes.h"

namespace mpc {

/// Moves a following vector addition and relu into the epilogue of a contraction or convolution;
/// says why not.
void fuseEpilogue(mlir::IRRewriter &rewriter, EpilogueOpInterface op);

/// log(softmax(x)) as log_softmax(x).
void fuseLogSoftmax(mlir::IRRewriter &rewriter, LogOp log);

/// softmax_cross_entropy(log(clip(softmax(x))), t) as softmax_cross_entropy(x, t).
void fuseCrossEntropy(mlir::IRRewriter &rewriter, SoftmaxCrossEntropyOp loss);

/// Convolutions of integers as products of what their windows read.
void expandIntegerConvolutions(mlir::IRRewriter &rewriter, mlir::func::FuncOp function);

} // namespace mpc

#endif // MPC_LIB_TRANSFORMS_FUSION_H
