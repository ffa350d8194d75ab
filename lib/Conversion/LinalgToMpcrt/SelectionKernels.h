// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Turns mpcrt.compact and mpcrt.select_boxes into kernel functions and their launches.
#ifndef MPC_LIB_CONVERSION_LINALGTOMPCRT_SELECTIONKERNELS_H
#define MPC_LIB_CONVERSION_LINALGTOMPCRT_SELECTIONKERNELS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mpc {

/// Replaces the op, one of the two, which stands in `entry`. Failure, with an error, when its
/// extents are no function of the batch.
mlir::LogicalResult outlineSelection(mlir::func::FuncOp entry, mlir::Operation *op);

} // namespace mpc

#endif
