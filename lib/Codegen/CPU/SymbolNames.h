// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Names of symbols in objects.
#ifndef MPC_LIB_CODEGEN_CPU_SYMBOLNAMES_H
#define MPC_LIB_CODEGEN_CPU_SYMBOLNAMES_H

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"
#include <string>

namespace mpc {

/// The object with other names of its symbols: from each key to its value. Fails where the bytes
/// are no object.
llvm::Expected<std::string> renameSymbols(llvm::StringRef object,
                                          const llvm::StringMap<std::string> &names);

} // namespace mpc

#endif // MPC_LIB_CODEGEN_CPU_SYMBOLNAMES_H
