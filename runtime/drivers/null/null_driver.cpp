// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The null driver.
#include "runtime/drivers/null/null_driver.h"
#include "runtime/base/status.h"

namespace mpc::rt {

mpc_rt_status_t NullDriver::begin(WeightUse) {
  if (running)
    return fail(MPC_RT_FAILED_PRECONDITION,
                "null device: a run began inside a run; end the first one");
  running = true;
  recorded.clear();
  return MPC_RT_OK;
}

void NullDriver::parallelFor(mpc_rt_kernel_fn kernel, void *const *, int64_t count, int64_t grain) {
  if (count > 0)
    recorded.push_back({Call::loop, kernel, count, grain, 0, {}, {}});
}

mpc_rt_status_t NullDriver::multiply(const mpc_rt_contract_t &descriptor, const Contraction &shape,
                                     const mpc_rt_contract_call_t &) {
  recorded.push_back({Call::contraction, nullptr, 0, 0, descriptor.id, shape, {}});
  return MPC_RT_OK;
}

mpc_rt_status_t NullDriver::convolve(const mpc_rt_convolution_t &descriptor,
                                     const mpc_rt_convolve_call_t &call) {
  Convolution window;
  if (auto status = resolveConvolution(descriptor, call, window))
    return status;
  recorded.push_back({Call::convolution, nullptr, 0, 0, descriptor.id, {}, window});
  return MPC_RT_OK;
}

std::unique_ptr<Driver> makeNullDriver(const DriverOptions &options) {
  return std::make_unique<NullDriver>(options);
}

} // namespace mpc::rt
