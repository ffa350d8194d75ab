// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Names of symbols in objects.
#ifndef MPC_LIB_CODEGEN_CPU_SYMBOLNAMES_H
#define MPC_LIB_CODEGEN_CPU_SYMBOLNAMES_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"
#include <string>

namespace mpc {

/// The object with other names of its symbols. `rename` returns the name that a symbol gets; empty
/// for its own. Fails where the bytes are no object.
llvm::Expected<std::string>
renameSymbols(llvm::StringRef object, llvm::function_ref<std::string(llvm::StringRef name)> rename);

} // namespace mpc

#endif // MPC_LIB_CODEGEN_CPU_SYMBOLNAMES_H
