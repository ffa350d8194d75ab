// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products that the parts of a batch may sum while they compute them.
#ifndef MPC_LIB_CONVERSION_LINALGTOMPCRT_SUMMEDPRODUCTS_H
#define MPC_LIB_CONVERSION_LINALGTOMPCRT_SUMMEDPRODUCTS_H

#include "mlir/IR/BuiltinOps.h"

namespace mpc {

/// Marks the weight gradients of @train_backward of which nothing is read but what launches, which
/// a part of a batch without results does not run, make of their sum.
void markSummedProducts(mlir::ModuleOp module);

} // namespace mpc

#endif // MPC_LIB_CONVERSION_LINALGTOMPCRT_SUMMEDPRODUCTS_H
