// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/base/status.h"
#include "runtime/drivers/call_struct.h"
#include "runtime/execution/context.h"
#include "runtime/execution/services.h"

namespace mpc::rt {

static int32_t convolve(void *context, const mpc_rt_convolution_t *descriptor,
                        const mpc_rt_convolve_call_t *given) {
  const char *layer = descriptor->layer ? descriptor->layer : "convolution";
  return guard(layer, [&]() -> mpc_rt_status_t {
    mpc_rt_convolve_call_t call;
    if (auto status = readCall(layer, *given, MPC_RT_CONVOLVE_CALL_MINIMUM, call))
      return status;
    return static_cast<mpc_rt_context_t *>(context)->driver->convolve(*descriptor, call);
  });
}

void setConvolution(mpc_rt_services_t &services) noexcept { services.convolve = convolve; }

} // namespace mpc::rt
