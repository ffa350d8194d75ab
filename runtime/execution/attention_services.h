// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The services of attention, whose operands the driver gets together.
#ifndef MPC_RUNTIME_EXECUTION_ATTENTION_SERVICES_H
#define MPC_RUNTIME_EXECUTION_ATTENTION_SERVICES_H

#include "mpc-rt/executable.h"

namespace mpc::rt {

// attend, attend_gradient and their forms with masks and dropout.
void setAttention(mpc_rt_services_t &services) noexcept;

} // namespace mpc::rt

#endif
