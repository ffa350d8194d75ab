// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The rewrites of mpc-fuse.
#ifndef MPC_LIB_TRANSFORMS_FUSION_H
#define MPC_LIB_TRANSFORMS_FUSION_H

#include "dialects/mpc/IR/Mpc.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/Remarks.h"

namespace mpc {

/// A remark of this phase, by its stable name.
inline mlir::remark::RemarkOpts fusionRemark(llvm::StringRef name) {
  return mlir::remark::RemarkOpts::name(name).category("mpc-fusion");
}

/// Whether the op gives its operand another shape and does nothing else; null does not.
inline bool isReshape(mlir::Operation *op) {
  return llvm::isa_and_nonnull<mlir::tensor::CollapseShapeOp, mlir::tensor::ExpandShapeOp>(op);
}

/// The value before it was given another shape.
inline mlir::Value skipReshapes(mlir::Value value) {
  while (isReshape(value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  return value;
}

/// Moves a following vector addition and relu into the epilogue of a contraction or convolution;
/// says why not.
void fuseEpilogue(mlir::IRRewriter &rewriter, EpilogueOpInterface op);

/// log(softmax(x)) as log_softmax(x).
void fuseLogSoftmax(mlir::IRRewriter &rewriter, LogOp log);

/// softmax_cross_entropy(log(clip(softmax(x))), t) as softmax_cross_entropy(x, t).
void fuseCrossEntropy(mlir::IRRewriter &rewriter, SoftmaxCrossEntropyOp loss);

} // namespace mpc

#endif // MPC_LIB_TRANSFORMS_FUSION_H
