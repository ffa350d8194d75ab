// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products that the parts of a batch sum while they compute them
// (MPC_RT_CONTRACT_SUMMED_BY_PARTS).
#ifndef MPC_RUNTIME_EXECUTION_SUMMED_PRODUCTS_H
#define MPC_RUNTIME_EXECUTION_SUMMED_PRODUCTS_H

#include "mpc-rt/model.h"
#include "mpc-rt/services.h"
#include "mpc-rt/status.h"

namespace mpc::rt {

// Where the context is a part of a batch whose parts can: the sum over those of this rank goes to
// `out` of the first one, and the reduction that follows knows. `done`: false where the call is to
// be computed as others are.
mpc_rt_status_t sumOverParts(mpc_rt_context_t &context, const mpc_rt_contract_t &descriptor,
                             const mpc_rt_contract_call_t &call, bool &done);

} // namespace mpc::rt

#endif
