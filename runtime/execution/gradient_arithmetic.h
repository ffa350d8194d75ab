// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Unscaling of gradients in place.
#ifndef MPC_RUNTIME_EXECUTION_GRADIENT_ARITHMETIC_H
#define MPC_RUNTIME_EXECUTION_GRADIENT_ARITHMETIC_H

#include "mpc-rt/dtype.h"
#include "runtime/threads/thread_team.h"

namespace mpc::rt {

// Divides float32 or float64 elements by `divisor` when `divides`; true when all were finite
// before. To be called between begin and end of the team, so that denormals are flushed as in
// compiled code.
bool divideGradient(ThreadTeam &team, mpc_rt_dtype_t dtype, void *data, uint64_t bytes,
                    bool divides, float divisor);

// Whether all elements are finite.
bool areFinite(ThreadTeam &team, mpc_rt_dtype_t dtype, const void *data, uint64_t bytes);

} // namespace mpc::rt

#endif
