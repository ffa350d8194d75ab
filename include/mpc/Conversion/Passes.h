// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Conversions between dialects and what prepares and follows them.
#ifndef MPC_CONVERSION_PASSES_H
#define MPC_CONVERSION_PASSES_H

#include "mpc/Analysis/PhasePass.h"
#include "mpc/Support/Device.h"

namespace mpc {

#define GEN_PASS_DECL
#include "mpc/Conversion/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "mpc/Conversion/Passes.h.inc"

} // namespace mpc

#endif // MPC_CONVERSION_PASSES_H
