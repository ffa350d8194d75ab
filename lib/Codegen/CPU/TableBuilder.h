// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The tables of include/mpc-rt/executable.h as constants of an LLVM module.
#ifndef MPC_LIB_CODEGEN_CPU_TABLEBUILDER_H
#define MPC_LIB_CODEGEN_CPU_TABLEBUILDER_H

#include "lib/Codegen/CPU/ModuleTables.h"
#include "llvm/IR/Module.h"
#include <string>
#include <vector>

namespace mpc {

/// The kernels compiled for one instruction set.
struct KernelVersion {
  uint32_t isa;                       ///< mpc_rt_isa_t
  std::vector<std::string> functions; ///< names, in the order of the executable's table
};
using KernelVersions = std::vector<KernelVersion>;

/// Adds the executable, everything it points to but functions, and the exported query function.
void buildExecutableTables(llvm::Module &module, const ModuleTables &tables,
                           llvm::StringRef manifest, const KernelVersions &kernels);

} // namespace mpc

#endif // MPC_LIB_CODEGEN_CPU_TABLEBUILDER_H
