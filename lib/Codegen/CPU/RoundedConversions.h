// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Conversions of rounded float32 to integers, as quantization has them.
#ifndef MPC_LIB_CODEGEN_CPU_ROUNDEDCONVERSIONS_H
#define MPC_LIB_CODEGEN_CPU_ROUNDEDCONVERSIONS_H

#include "llvm/IR/Function.h"

namespace mpc {

/// Leaves the rounding to the nearest integer, ties to the even one, to the conversion behind it,
/// which can do both in one instruction: the same integers, and the same for what none can hold.
void lowerRoundedConversions(llvm::Function &function);

} // namespace mpc

#endif // MPC_LIB_CODEGEN_CPU_ROUNDEDCONVERSIONS_H
