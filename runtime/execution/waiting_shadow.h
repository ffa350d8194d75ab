// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// 16-bit copies of weights that are made when they are wanted: a first prediction rounds the
// float32 weights on the way instead.
#ifndef MPC_RUNTIME_EXECUTION_WAITING_SHADOW_H
#define MPC_RUNTIME_EXECUTION_WAITING_SHADOW_H

#include "runtime/execution/context.h"

namespace mpc::rt {

// Whether the rhs is such a copy that was not made yet.
bool hasWaitingShadow(const mpc_rt_context_t &context,
                      const mpc_rt_contract_t &descriptor) noexcept;

// Makes the copy if the rhs is one that waits.
mpc_rt_status_t readyShadow(mpc_rt_context_t &context, const mpc_rt_contract_t &descriptor);

// The same, or the whole contraction by the float32 weights where a copy would be read once.
// `done`: the contraction is computed.
mpc_rt_status_t readyShadowOrContract(mpc_rt_context_t &context,
                                      const mpc_rt_contract_t &descriptor,
                                      const mpc_rt_contract_call_t &call, bool &done);

} // namespace mpc::rt

#endif
