// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Passes of the phases autodiff and scaling.
#ifndef MPC_AUTODIFF_PASSES_H
#define MPC_AUTODIFF_PASSES_H

#include "mpc/Analysis/PhasePass.h"

namespace mpc {

#define GEN_PASS_DECL
#include "mpc/Autodiff/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "mpc/Autodiff/Passes.h.inc"

} // namespace mpc

#endif // MPC_AUTODIFF_PASSES_H
