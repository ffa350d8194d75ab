// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Conversions between float16 and float32 in the code of each x86-64 level.
#ifndef MPC_LIB_CODEGEN_CPU_HALFCONVERSIONS_H
#define MPC_LIB_CODEGEN_CPU_HALFCONVERSIONS_H

#include "llvm/IR/Module.h"

namespace mpc {

/// Makes calls of the conversions, into which no pass moves arithmetic: LLVM would compute in
/// float16 where it proves that this rounds the same, which a level may not have.
void hideHalfConversions(llvm::Module &module);

/// Gives these calls in the function code: the instructions of F16C, or else integer
/// arithmetic, since nothing links the functions that LLVM would call.
void lowerHalfConversions(llvm::Function &function, bool hasF16C);

} // namespace mpc

#endif // MPC_LIB_CODEGEN_CPU_HALFCONVERSIONS_H
