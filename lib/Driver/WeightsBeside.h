// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The weights that travel beside IR text (--compile-to, --compile-from).
#ifndef MPC_LIB_DRIVER_WEIGHTSBESIDE_H
#define MPC_LIB_DRIVER_WEIGHTSBESIDE_H

#include "mlir/IR/BuiltinOps.h"
#include "mpc/Driver/Compile.h"

namespace mpc {

/// The values in STEM.safetensors in the folder of a model that is IR, whatever its suffix; none
/// where there is no such file. Each is a variable of the module, of its dtype and shape; all that
/// are not are named together.
llvm::Expected<WeightStore> readWeightsBeside(const CompileOptions &options, mlir::ModuleOp module);

} // namespace mpc

#endif // MPC_LIB_DRIVER_WEIGHTSBESIDE_H
