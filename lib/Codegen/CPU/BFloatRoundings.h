// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Roundings to bfloat16 by the instruction of CPUs that have one.
#ifndef MPC_LIB_CODEGEN_CPU_BFLOATROUNDINGS_H
#define MPC_LIB_CODEGEN_CPU_BFLOATROUNDINGS_H

#include "llvm/IR/Function.h"

namespace mpc {

/// Whether the function rounds vectors in integer arithmetic whose numbers arithmetic has made.
/// VCVTNEPS2BF16 takes subnormal numbers for zero: of these there are none inside a run
/// (runtime/base/floating_environment.h). Before loops have vectors, LLVM would take conversions to
/// bfloat16 for expensive ones and make the vectors shorter.
bool hasBFloatRoundings(llvm::Function &function);

/// Makes these roundings conversions, for a CPU with AVX512-BF16.
void lowerBFloatRoundings(llvm::Function &function);

} // namespace mpc

#endif // MPC_LIB_CODEGEN_CPU_BFLOATROUNDINGS_H
