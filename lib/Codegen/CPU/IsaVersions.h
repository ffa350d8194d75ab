// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Versions of kernels for x86-64 levels.
#ifndef MPC_LIB_CODEGEN_CPU_ISAVERSIONS_H
#define MPC_LIB_CODEGEN_CPU_ISAVERSIONS_H

#include "lib/Codegen/CPU/TableBuilder.h"
#include "llvm/Support/Error.h"

namespace mpc {

/// Clones each kernel for the levels that `march` asks for and sets the baseline level on
/// everything else. `targets` receives the levels' names.
llvm::Expected<KernelVersions> buildKernelVersions(llvm::Module &module,
                                                   const std::vector<std::string> &kernels,
                                                   llvm::StringRef march,
                                                   std::vector<std::string> &targets);

} // namespace mpc

#endif // MPC_LIB_CODEGEN_CPU_ISAVERSIONS_H
