// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The pass that looks for hazards of precision.
#ifndef MPC_NUMERICS_LINT_PASSES_H
#define MPC_NUMERICS_LINT_PASSES_H

#include "mlir/Pass/Pass.h"
#include "mpc/Analysis/PhasePass.h"
#include "mpc/Support/Device.h"

namespace mpc {

#define GEN_PASS_DECL
#include "mpc/Numerics/Lint/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "mpc/Numerics/Lint/Passes.h.inc"

} // namespace mpc

#endif // MPC_NUMERICS_LINT_PASSES_H
