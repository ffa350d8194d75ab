// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// From functions of the LLVM dialect to objects.
#ifndef MPC_LIB_CODEGEN_CPU_COMPILEUNITS_H
#define MPC_LIB_CODEGEN_CPU_COMPILEUNITS_H

#include "lib/Codegen/CPU/CodeUnits.h"
#include "lib/Codegen/CPU/IsaVersions.h"
#include "lib/Codegen/CPU/ObjectCache.h"
#include "lib/Codegen/CPU/ObjectFile.h"

namespace mpc {

/// Translates, optimises and compiles each unit, kernels for each of `levels`, on as many threads
/// as the machine has. Equal units are compiled once, and not at all where `cache` has them; null
/// for no cache. The objects are those of `units`, in order, and the same ones whatever is in the
/// cache. With Effort::Least nothing is optimised. `done` is told how many are ready; by one thread
/// at a time.
llvm::Expected<std::vector<ObjectFile>> compileUnits(std::vector<CodeUnit> &units,
                                                     llvm::ArrayRef<IsaLevel> levels, Effort effort,
                                                     ObjectCache *cache,
                                                     llvm::function_ref<void(size_t)> done);

} // namespace mpc

#endif // MPC_LIB_CODEGEN_CPU_COMPILEUNITS_H
