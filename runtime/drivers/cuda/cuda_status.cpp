// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// CUDA's own text, and what to do.
#include "runtime/drivers/cuda/cuda_status.h"

namespace mpc::rt::cuda {

mpc_rt_status_t check(const Api &api, Result result, const char *what) noexcept {
  constexpr Result outOfMemory = 2, noBinary = 209;
  if (result == 0)
    return MPC_RT_OK;
  const char *text = nullptr;
  api.getErrorString(result, &text);
  if (result == outOfMemory)
    return fail(MPC_RT_RESOURCE_EXHAUSTED,
                "%s: the GPU has no memory left; use a smaller batch or end other programs", what);
  return fail(MPC_RT_INTERNAL, "%s: CUDA error %d (%s)%s", what, result, text ? text : "unknown",
              result == noBinary ? "; compile the model for this GPU with --target=cuda:sm_N" : "");
}

} // namespace mpc::rt::cuda
