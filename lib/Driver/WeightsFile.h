// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The weights that travel beside IR text (--compile-to, --compile-from).
#ifndef MPC_LIB_DRIVER_WEIGHTSFILE_H
#define MPC_LIB_DRIVER_WEIGHTSFILE_H

#include "mlir/IR/BuiltinOps.h"
#include "mpc/Support/WeightStore.h"
#include "llvm/Support/Error.h"

namespace mpc {

/// The dtype of the runtime that an element type is.
mpc_rt_dtype_t toRuntimeDtype(mlir::Type type);

/// Adds the values of STEM.safetensors in the folder of the IR file `model`; nothing without that
/// file. All tensors that are no variable of the module, or one of another dtype or shape, are
/// refused together.
llvm::Error readWeightsBeside(llvm::StringRef model, mlir::ModuleOp module, WeightStore &weights);

} // namespace mpc

#endif // MPC_LIB_DRIVER_WEIGHTSFILE_H
