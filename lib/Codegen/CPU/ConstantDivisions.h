// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Divisions of float32 by constants, as quantization has them.
#ifndef MPC_LIB_CODEGEN_CPU_CONSTANTDIVISIONS_H
#define MPC_LIB_CODEGEN_CPU_CONSTANTDIVISIONS_H

#include "llvm/IR/Function.h"

namespace mpc {

/// Multiplies in float64 by the reciprocal instead, and rounds to the same bits: wide vectors
/// divide at a third of the speed (docs/numerics.md).
void lowerConstantDivisions(llvm::Function &function);

} // namespace mpc

#endif // MPC_LIB_CODEGEN_CPU_CONSTANTDIVISIONS_H
