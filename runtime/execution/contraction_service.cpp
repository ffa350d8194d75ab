// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/base/dtype.h"
#include "runtime/base/status.h"
#include "runtime/drivers/call_struct.h"
#include "runtime/drivers/result_kernel.h"
#include "runtime/execution/context.h"
#include "runtime/execution/services.h"
#include "runtime/execution/summed_products.h"
#include "runtime/execution/waiting_shadow.h"

namespace mpc::rt {
namespace {

// A product of weights whose 16-bit copy waits, and at most a kernel beside it, may do without the
// copy.
bool mayReadMaster(const mpc_rt_contract_call_t &call) {
  return !call.largest && !call.sums && !call.mask && !call.where && !call.kept && !call.gelu_at &&
         !call.scale;
}

mpc_rt_status_t contractWithShadow(mpc_rt_context_t &context, const mpc_rt_contract_t &descriptor,
                                   const mpc_rt_contract_call_t &call) {
  Driver &driver = *context.driver;
  if (descriptor.activation > MPC_RT_ACTIVATION_RELU || !mayReadMaster(call)) {
    auto status = readyShadow(context, descriptor);
    return status ? status : driver.contract(descriptor, call);
  }
  mpc_rt_contract_call_t product = call;
  product.kernel = nullptr;
  product.requantization = 0;
  Contraction shape;
  if (auto status = resolveContraction(descriptor, call, shape))
    return status;
  if (!product.out) {
    reserve(context.consumedResult, shape.outElements() * dtypeSize(shape.out));
    product.out = context.consumedResult.data();
  }
  bool done = false;
  if (auto status = readyShadowOrContract(context, descriptor, product, done))
    return status;
  product.kernel = call.kernel;
  product.requantization = call.requantization;
  if (!done)
    return driver.contract(descriptor, product);
  if (call.kernel)
    resultKernelOf(call).run(driver, product.out, shape.outElements());
  return MPC_RT_OK;
}

int32_t contract(void *context, const mpc_rt_contract_t *descriptor,
                 const mpc_rt_contract_call_t *given) {
  const char *layer = descriptor->layer ? descriptor->layer : "contraction";
  return guard(layer, [&]() -> mpc_rt_status_t {
    mpc_rt_contract_call_t call;
    if (auto status = readCall(layer, *given, MPC_RT_CONTRACT_CALL_MINIMUM, call))
      return status;
    auto &own = *static_cast<mpc_rt_context_t *>(context);
    if (descriptor->flags & MPC_RT_CONTRACT_SUMMED_BY_PARTS) {
      bool done = false;
      if (auto status = sumOverParts(own, *descriptor, call, done))
        return status;
      if (done)
        return MPC_RT_OK;
    }
    return hasWaitingShadow(own, *descriptor) ? contractWithShadow(own, *descriptor, call)
                                              : own.driver->contract(*descriptor, call);
  });
}

} // namespace

void setContraction(mpc_rt_services_t &services) noexcept { services.contract = contract; }

} // namespace mpc::rt
