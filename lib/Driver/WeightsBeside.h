// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The weights that travel beside IR text (--compile-to, --compile-from).
#ifndef MPC_LIB_DRIVER_WEIGHTSBESIDE_H
#define MPC_LIB_DRIVER_WEIGHTSBESIDE_H

#include "mlir/IR/BuiltinOps.h"
#include "mpc/Support/WeightStore.h"
#include "llvm/Support/Error.h"

namespace mpc {

/// The dtype of the runtime that an element type is.
mpc_rt_dtype_t toRuntimeDtype(mlir::Type type);

/// Whether every value is a variable of the module, of its dtype and shape. All that are not are
/// named together, as values of `file`.
llvm::Error checkWeights(const WeightStore &weights, llvm::StringRef file, mlir::ModuleOp module);

} // namespace mpc

#endif // MPC_LIB_DRIVER_WEIGHTSBESIDE_H
