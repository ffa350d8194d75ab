// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The tables of include/mpc-rt/executable.h as constants of an LLVM module.
#ifndef MPC_LIB_CODEGEN_CPU_TABLEBUILDER_H
#define MPC_LIB_CODEGEN_CPU_TABLEBUILDER_H

#include "lib/Codegen/CPU/ModuleTables.h"
#include "llvm/IR/Module.h"
#include <array>
#include <string>
#include <vector>

namespace mpc {

/// Names of kernel functions by ISA level (index of mpc_rt_isa_t) in table order; an empty list
/// means that the level was not compiled.
using KernelVersions = std::array<std::vector<std::string>, 3>;

/// Adds the executable, everything it points to but functions, and the exported query function.
void buildExecutableTables(llvm::Module &module, const ModuleTables &tables,
                           llvm::StringRef manifest, const KernelVersions &kernels);

} // namespace mpc

#endif // MPC_LIB_CODEGEN_CPU_TABLEBUILDER_H
