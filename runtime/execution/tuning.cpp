// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mpc-rt/tuning.h"
#include "runtime/base/status.h"
#include "runtime/execution/context.h"

using namespace mpc::rt;

extern "C" {

mpc_rt_status_t mpc_rt_context_tune(mpc_rt_context_t *context) {
  if (!context)
    return fail(MPC_RT_INVALID_ARGUMENT, "mpc_rt_context_tune: the context is null");
  context->driver->kernels().tune(/*steps=*/0);
  return MPC_RT_OK;
}

mpc_rt_status_t mpc_rt_context_tune_for(mpc_rt_context_t *context, uint64_t steps) {
  if (!context)
    return fail(MPC_RT_INVALID_ARGUMENT, "mpc_rt_context_tune_for: the context is null");
  if (steps == 0)
    return fail(MPC_RT_INVALID_ARGUMENT,
                "mpc_rt_context_tune_for: steps is 0; expected those of the training");
  context->driver->kernels().tune(steps);
  return MPC_RT_OK;
}

int32_t mpc_rt_context_has_measured_rules(mpc_rt_context_t *context) {
  return context ? context->driver->kernels().hasMeasuredRules() : -1;
}

const char *mpc_rt_context_kernel_choices(mpc_rt_context_t *context) {
  if (!context)
    return "";
  auto status = guard("mpc_rt_context_kernel_choices", [&] {
    context->kernelChoicesText = context->driver->kernels().choices();
    return MPC_RT_OK;
  });
  return status ? "" : context->kernelChoicesText.c_str();
}

mpc_rt_status_t mpc_rt_context_set_kernel_choices(mpc_rt_context_t *context, const char *kernels) {
  if (!context || !kernels)
    return fail(MPC_RT_INVALID_ARGUMENT, "mpc_rt_context_set_kernel_choices: an argument is null");
  return guard("mpc_rt_context_set_kernel_choices",
               [&] { return context->driver->kernels().setChoices(kernels); });
}

mpc_rt_status_t mpc_rt_context_record_kernels(mpc_rt_context_t *context) {
  if (!context)
    return fail(MPC_RT_INVALID_ARGUMENT, "mpc_rt_context_record_kernels: the context is null");
  context->driver->kernels().log.start();
  return MPC_RT_OK;
}

const char *mpc_rt_context_used_kernels(mpc_rt_context_t *context) {
  if (!context)
    return "";
  auto status = guard("mpc_rt_context_used_kernels", [&] {
    context->usedKernelsText = context->driver->kernels().log.text();
    return MPC_RT_OK;
  });
  return status ? "" : context->usedKernelsText.c_str();
}

} // extern "C"
