// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Passes of the phases buffers, kernels and module.
#ifndef MPC_CODEGEN_PASSES_H
#define MPC_CODEGEN_PASSES_H

#include "mlir/Pass/Pass.h"

namespace mpc {

#define GEN_PASS_DECL
#include "mpc/Codegen/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "mpc/Codegen/Passes.h.inc"

} // namespace mpc

#endif // MPC_CODEGEN_PASSES_H
