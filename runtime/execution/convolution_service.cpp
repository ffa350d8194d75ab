// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/base/status.h"
#include "runtime/execution/context.h"
#include "runtime/execution/services.h"

namespace mpc::rt {

static int32_t convolve(void *context, const mpc_rt_convolution_t *descriptor, const void *lhs,
                        const void *rhs, const void *bias, void *out, int64_t batch) {
  return guard(descriptor->layer ? descriptor->layer : "convolution", [&] {
    return static_cast<mpc_rt_context_t *>(context)->driver->convolve(*descriptor, lhs, rhs, bias,
                                                                      out, batch);
  });
}

void setConvolution(mpc_rt_services_t &services) noexcept { services.convolve = convolve; }

} // namespace mpc::rt
