// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Failures of CUDA's functions as statuses.
#ifndef MPC_RUNTIME_DRIVERS_CUDA_CUDA_STATUS_H
#define MPC_RUNTIME_DRIVERS_CUDA_CUDA_STATUS_H

#include "runtime/base/status.h"
#include "runtime/drivers/cuda/cuda_api.h"

namespace mpc::rt::cuda {

// OK for success, else RESOURCE_EXHAUSTED for memory and INTERNAL otherwise; `what` begins the
// message.
mpc_rt_status_t check(const Api &api, Result result, const char *what) noexcept;

} // namespace mpc::rt::cuda

#endif
