// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mpc-rt/tuning.h"
#include "runtime/base/status.h"
#include "runtime/execution/context.h"

using namespace mpc::rt;

extern "C" {

mpc_rt_status_t mpc_rt_context_tune(mpc_rt_context_t *context) {
  if (!context)
    return fail(MPC_RT_INVALID_ARGUMENT, "mpc_rt_context_tune: the context is null");
  context->driver->tune();
  return MPC_RT_OK;
}

const char *mpc_rt_context_kernels(mpc_rt_context_t *context) {
  if (!context)
    return "";
  auto status = guard("mpc_rt_context_kernels", [&] {
    context->kernelsText = context->driver->kernelChoices();
    return MPC_RT_OK;
  });
  return status ? "" : context->kernelsText.c_str();
}

mpc_rt_status_t mpc_rt_context_set_kernels(mpc_rt_context_t *context, const char *kernels) {
  if (!context || !kernels)
    return fail(MPC_RT_INVALID_ARGUMENT, "mpc_rt_context_set_kernels: an argument is null");
  return guard("mpc_rt_context_set_kernels",
               [&] { return context->driver->setKernelChoices(kernels); });
}

mpc_rt_status_t mpc_rt_context_list_products(mpc_rt_context_t *context) {
  if (!context)
    return fail(MPC_RT_INVALID_ARGUMENT, "mpc_rt_context_list_products: the context is null");
  context->driver->listProducts();
  return MPC_RT_OK;
}

const char *mpc_rt_context_products(mpc_rt_context_t *context) {
  if (!context)
    return "";
  auto status = guard("mpc_rt_context_products", [&] {
    context->productsText = context->driver->products();
    return MPC_RT_OK;
  });
  return status ? "" : context->productsText.c_str();
}

} // extern "C"
