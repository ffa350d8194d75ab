// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A buffer in place of an allocation: with gaps between its rows, as part of another one.
#ifndef MPC_LIB_BUFFERS_STRIDEDBUFFER_H
#define MPC_LIB_BUFFERS_STRIDEDBUFFER_H

#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace mpc {

/// The type of `view`, a memref.subview, expand_shape or collapse_shape, of a source of type
/// `source`; null when there is no such view.
mlir::MemRefType getTypeOfView(mlir::Operation *view, mlir::MemRefType source);

/// Whether every op that uses `buffer` or a view of it takes one of type `type`, which differs in
/// its strides, instead.
bool canHaveType(mlir::Value buffer, mlir::MemRefType type);

/// Replaces the allocation by `buffer`, whose type it can have, and its views by those of `buffer`.
void replaceAllocation(mlir::RewriterBase &rewriter, mlir::memref::AllocOp alloc,
                       mlir::Value buffer);

} // namespace mpc

#endif // MPC_LIB_BUFFERS_STRIDEDBUFFER_H
