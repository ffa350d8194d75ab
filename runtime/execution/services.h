// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The services that generated code calls, mpc_rt_services_t. Each one is its driver's, with
// messages that name the layer.
#ifndef MPC_RUNTIME_EXECUTION_SERVICES_H
#define MPC_RUNTIME_EXECUTION_SERVICES_H

#include "mpc-rt/executable.h"

namespace mpc::rt {

// parallel_for, parallel_for_all, the loops over rows, and prepare.
void setLoops(mpc_rt_services_t &services) noexcept;
void setContraction(mpc_rt_services_t &services) noexcept;
void setConvolution(mpc_rt_services_t &services) noexcept;
void setAttention(mpc_rt_services_t &services) noexcept;
void setTrace(mpc_rt_services_t &services) noexcept;
void setRankReductions(mpc_rt_services_t &services) noexcept;

} // namespace mpc::rt

#endif
