// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Turns mpcrt.scatter_add into a kernel function and its launch.
#ifndef MPC_LIB_CONVERSION_LINALGTOMPCRT_SCATTERKERNEL_H
#define MPC_LIB_CONVERSION_LINALGTOMPCRT_SCATTERKERNEL_H

#include "dialects/mpcrt/IR/Mpcrt.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mpc {

/// Replaces `scatter`, which stands in `entry`. Failure, with an error, when its extents are no
/// function of the batch.
mlir::LogicalResult outlineScatterAdd(mlir::func::FuncOp entry, mpcrt::ScatterAddOp scatter);

} // namespace mpc

#endif
