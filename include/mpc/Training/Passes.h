// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Passes that prepare training.
#ifndef MPC_TRAINING_PASSES_H
#define MPC_TRAINING_PASSES_H

#include "dialects/mpc/IR/Mpc.h"
#include "mlir/IR/BuiltinOps.h"
#include "mpc/Analysis/PhasePass.h"

namespace mpc {

#define GEN_PASS_DECL
#include "mpc/Training/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "mpc/Training/Passes.h.inc"

} // namespace mpc

#endif // MPC_TRAINING_PASSES_H
