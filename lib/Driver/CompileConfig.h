// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The compile config of the file, with the options laid over it.
#ifndef MPC_LIB_DRIVER_COMPILECONFIG_H
#define MPC_LIB_DRIVER_COMPILECONFIG_H

#include "mpc/Driver/Compile.h"
#include "mpc/Training/Training.h"
#include "llvm/Support/Error.h"

namespace mpc {

/// `fromFile` is Keras's compile_config (may be empty). Errors name the option.
llvm::Expected<CompileConfig> mergeCompileConfig(const llvm::json::Object &fromFile,
                                                 const CompileOptions &options);

} // namespace mpc

#endif // MPC_LIB_DRIVER_COMPILECONFIG_H
