// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The pass that makes entries report their values.
#ifndef MPC_NUMERICS_TRACE_PASSES_H
#define MPC_NUMERICS_TRACE_PASSES_H

#include "mpc/Analysis/PhasePass.h"

namespace mpc {

#define GEN_PASS_DECL
#include "mpc/Numerics/Trace/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "mpc/Numerics/Trace/Passes.h.inc"

} // namespace mpc

#endif // MPC_NUMERICS_TRACE_PASSES_H
