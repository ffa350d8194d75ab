// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Passes that compute reference values.
#ifndef MPC_INTERPRETER_PASSES_H
#define MPC_INTERPRETER_PASSES_H

#include "mlir/Pass/Pass.h"

namespace mpc {

#define GEN_PASS_DECL
#include "mpc/Interpreter/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "mpc/Interpreter/Passes.h.inc"

} // namespace mpc

#endif // MPC_INTERPRETER_PASSES_H
