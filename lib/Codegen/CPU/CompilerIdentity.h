// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which compiler this is.
#ifndef MPC_LIB_CODEGEN_CPU_COMPILERIDENTITY_H
#define MPC_LIB_CODEGEN_CPU_COMPILERIDENTITY_H

#include <string>

namespace mpc {

/// A text that differs between programs that may make different code of the same IR: another build
/// of this one, or another LLVM. Empty where that cannot be told.
std::string identifyCompiler();

} // namespace mpc

#endif // MPC_LIB_CODEGEN_CPU_COMPILERIDENTITY_H
