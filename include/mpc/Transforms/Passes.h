// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Passes over the mpc dialect.
#ifndef MPC_TRANSFORMS_PASSES_H
#define MPC_TRANSFORMS_PASSES_H

#include "dialects/mpc/IR/Mpc.h"
#include "mpc/Analysis/PhasePass.h"
#include "mpc/Support/Device.h"

namespace mpc {

#define GEN_PASS_DECL
#include "mpc/Transforms/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "mpc/Transforms/Passes.h.inc"

} // namespace mpc

#endif // MPC_TRANSFORMS_PASSES_H
