// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Buffers that are another one in another shape.
#ifndef MPC_ANALYSIS_RESHAPEDBUFFER_H
#define MPC_ANALYSIS_RESHAPEDBUFFER_H

#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace mpc {

/// Whether the op gives all of its operand in another shape, at the same address.
inline bool isBufferReshape(mlir::Operation *op) {
  return llvm::isa_and_present<mlir::memref::CollapseShapeOp, mlir::memref::ExpandShapeOp,
                               mlir::memref::CastOp>(op);
}

/// The buffer that `buffer` is in another shape.
inline mlir::Value skipBufferReshapes(mlir::Value buffer) {
  while (isBufferReshape(buffer.getDefiningOp()))
    buffer = buffer.getDefiningOp()->getOperand(0);
  return buffer;
}

} // namespace mpc

#endif // MPC_ANALYSIS_RESHAPEDBUFFER_H
