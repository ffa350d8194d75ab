// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/base/status.h"
#include "runtime/drivers/call_struct.h"
#include "runtime/execution/context.h"
#include "runtime/execution/services.h"

namespace mpc::rt {

static int32_t attend(void *context, const mpc_rt_attention_t *descriptor,
                      const mpc_rt_attend_call_t *given) {
  const char *layer = descriptor->layer ? descriptor->layer : "attention";
  return guard(layer, [&]() -> mpc_rt_status_t {
    mpc_rt_attend_call_t call;
    if (auto status = readCall(layer, *given, MPC_RT_ATTEND_CALL_MINIMUM, call))
      return status;
    return static_cast<mpc_rt_context_t *>(context)->driver->attend(*descriptor, call);
  });
}

void setAttention(mpc_rt_services_t &services) noexcept { services.attend = attend; }

} // namespace mpc::rt
