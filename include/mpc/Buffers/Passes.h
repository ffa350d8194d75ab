// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Passes of the phase buffers.
#ifndef MPC_BUFFERS_PASSES_H
#define MPC_BUFFERS_PASSES_H

#include "mpc/Analysis/PhasePass.h"
#include "mpc/Support/Device.h"

namespace mpc {

#define GEN_PASS_DECL
#include "mpc/Buffers/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "mpc/Buffers/Passes.h.inc"

} // namespace mpc

#endif // MPC_BUFFERS_PASSES_H
