// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Texts that accompany a compiled library. Names from a model are escaped: they may hold anything.
#ifndef MPC_LIB_TARGET_ARTIFACTS_H
#define MPC_LIB_TARGET_ARTIFACTS_H

#include "lib/Codegen/CPU/ModuleTables.h"

namespace mpc {

/// NAME.json: inputs, outputs, variables, layers, and with `describesBuild` targets, versions and
/// hashes of files.
std::string toManifest(const ModuleTables &tables, bool describesBuild = true);
/// NAME.h, C99: the model's entries, inputs and variables as constants, and NAME_-prefixed
/// functions over mpc-rt/model.h.
std::string toHeader(const ModuleTables &tables);
/// NAMEConfig.cmake: an imported target NAME::NAME, of libNAME.a with `isStatic`.
std::string toCMakeConfig(const ModuleTables &tables, bool isStatic);
/// example.c: predicts once on zeros.
std::string toExample(const ModuleTables &tables, bool isStatic);
/// The first lines of example.c of the model `name`.
std::string toExampleHead(llvm::StringRef name, bool isStatic);

/// Null when the library has no such entry.
inline const FunctionEntry *findEntry(const ModuleTables &tables, llvm::StringRef name) {
  for (const FunctionEntry &entry : tables.entries)
    if (entry.name == name)
      return &entry;
  return nullptr;
}

} // namespace mpc

#endif // MPC_LIB_TARGET_ARTIFACTS_H
