// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tensors that hold the same elements in another shape.
#ifndef MPC_ANALYSIS_RESHAPES_H
#define MPC_ANALYSIS_RESHAPES_H

#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mpc {

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

} // namespace mpc

#endif // MPC_ANALYSIS_RESHAPES_H
