// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Turns mpcrt.turn into a kernel function and its launch.
#ifndef MPC_LIB_CONVERSION_LINALGTOMPCRT_TURNKERNEL_H
#define MPC_LIB_CONVERSION_LINALGTOMPCRT_TURNKERNEL_H

#include "dialects/mpcrt/IR/Turn.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mpc {

/// Replaces `turn`, which stands in `entry`. Failure, with an error, when its extents are no
/// function of the batch.
mlir::LogicalResult outlineTurn(mlir::func::FuncOp entry, mpcrt::TurnOp turn);

} // namespace mpc

#endif
