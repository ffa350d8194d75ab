// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One loop in place of several whose elements follow each other in memory.
#ifndef MPC_LIB_CONVERSION_LINALGTOMPCRT_COLLAPSELOOPS_H
#define MPC_LIB_CONVERSION_LINALGTOMPCRT_COLLAPSELOOPS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace mpc {

/// The op without loops of one iteration, unless it sums, and its buffers without dimensions of
/// extent 1: what is left may be one flat loop, and kernels of a convolution's weights are those of
/// a matrix. The op itself where there are none.
mlir::linalg::GenericOp dropUnitLoops(mlir::linalg::GenericOp op);

/// The op with one loop for all over which it sums, where these follow each other in memory:
/// offsets of numbers are then no remainders. The op itself where they do not.
mlir::linalg::GenericOp collapseSums(mlir::linalg::GenericOp op);

/// The op with one loop for neighbours among those that its launch counts, where these follow each
/// other in memory: addresses are then made without divisions, and images of all sizes have one
/// kernel. The op itself where none do.
mlir::linalg::GenericOp collapseLaunched(mlir::linalg::GenericOp op,
                                         llvm::ArrayRef<unsigned> launched);

} // namespace mpc

#endif // MPC_LIB_CONVERSION_LINALGTOMPCRT_COLLAPSELOOPS_H
