// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/execution/value_watch.h"
#include "mpc-rt/watch.h"
#include "runtime/base/dtype.h"
#include "runtime/base/finite.h"
#include "runtime/base/status.h"
#include "runtime/drivers/call_struct.h"
#include "runtime/drivers/convolution.h"
#include "runtime/drivers/result_kernel.h"
#include "runtime/execution/context.h"

#include <array>

namespace mpc::rt {
namespace {

ValueWatch &watchOf(void *context) { return *static_cast<mpc_rt_context_t *>(context)->valueWatch; }

// A tensor of a call.
struct Values {
  const void *data;
  mpc_rt_dtype_t dtype;
  uint64_t count;
};
// The values that a service reads, as far as they are looked at, and those that it writes.
struct Operands {
  std::array<Values, 3> read = {};
  Values written = {};
};

// False for calls that the service refuses.
bool find(const mpc_rt_contract_t &descriptor, const mpc_rt_contract_call_t &call,
          Operands &operands) {
  Contraction shape;
  if (resolveContraction(descriptor, call, shape))
    return false;
  operands.read[0] = {call.lhs, descriptor.lhs_dtype, shape.lhsElements()};
  // A copy of weights that was never made is not read (waiting_shadow.h).
  if (descriptor.rhs_variable < 0 && !call.scale)
    operands.read[1] = {call.rhs, shape.rhs, shape.rhsElements()};
  operands.written = {call.out, shape.out, shape.outElements()};
  return true;
}

bool find(const mpc_rt_convolution_t &descriptor, const mpc_rt_convolve_call_t &call,
          Operands &operands) {
  Convolution shape;
  if (resolveConvolution(descriptor, call, shape))
    return false;
  operands.read[0] = {call.lhs, shape.lhs, uint64_t(shape.lhsElements())};
  operands.written = {call.out, shape.out, uint64_t(shape.outElements())};
  return true;
}

bool find(const mpc_rt_attention_t &descriptor, const mpc_rt_attend_call_t &call,
          Operands &operands) {
  Attention shape;
  if (resolveAttention(descriptor, call, shape) || shape.isGradient)
    return false;
  operands.read = {Values{call.query, shape.dtype, uint64_t(shape.queryElements())},
                   Values{call.key, shape.dtype, uint64_t(shape.keyElements())},
                   Values{call.value, shape.dtype, uint64_t(shape.valueElements())}};
  operands.written = {call.out, shape.dtype, uint64_t(shape.outElements())};
  return true;
}

// Looks at what the call reads before the service as it was, and at what it has written afterwards.
template <typename Descriptor, typename Call>
int32_t callWatched(int32_t (*service)(void *, const Descriptor *, const Call *), void *context,
                    const Descriptor &descriptor, const Call &call) {
  ValueWatch &watch = watchOf(context);
  Operands operands;
  if (watch.found() || !find(descriptor, call, operands))
    return service(context, &descriptor, &call);
  for (const Values &values : operands.read)
    watch.look(descriptor.layer, values.data, values.dtype, values.count, /*isResult=*/false);
  const int32_t status = service(context, &descriptor, &call);
  const Values &written = operands.written;
  if (status == MPC_RT_OK)
    watch.look(descriptor.layer, written.data, written.dtype, written.count, /*isResult=*/true);
  return status;
}

// The product and then the kernel on its result, which may replace what that overflowed to.
template <typename Descriptor, typename Call, typename Shape>
int32_t callApart(int32_t (*service)(void *, const Descriptor *, const Call *), void *context,
                  const Descriptor &descriptor, Call call, const Shape &shape) {
  ValueWatch &watch = watchOf(context);
  const ResultKernel kernel = resultKernelOf(call);
  const auto elements = static_cast<uint64_t>(shape.outElements());
  call.kernel = nullptr;
  call.requantization = 0;
  if (!call.out) {
    const uint64_t bytes = elements * dtypeSize(shape.out);
    if (!watch.result.reserve(bytes))
      return failToAllocate(descriptor.layer ? descriptor.layer : "product", bytes,
                            watch.result.problem());
    call.out = watch.result.data();
  }
  if (int32_t status = callWatched(service, context, descriptor, call))
    return status;
  kernel.run(*static_cast<mpc_rt_context_t *>(context)->driver, call.out, elements);
  return MPC_RT_OK;
}

int32_t convolve(void *context, const mpc_rt_convolution_t *descriptor,
                 const mpc_rt_convolve_call_t *given) {
  ValueWatch &watch = watchOf(context);
  const auto service = watch.services().convolve;
  mpc_rt_convolve_call_t call;
  Convolution shape;
  if (watch.found() || readCall("convolution", *given, MPC_RT_CONVOLVE_CALL_MINIMUM, call) ||
      resolveConvolution(*descriptor, call, shape))
    return service(context, descriptor, given);
  return call.kernel ? callApart(service, context, *descriptor, call, shape)
                     : callWatched(service, context, *descriptor, call);
}

int32_t attend(void *context, const mpc_rt_attention_t *descriptor,
               const mpc_rt_attend_call_t *given) {
  const auto service = watchOf(context).services().attend;
  mpc_rt_attend_call_t call;
  return readCall("attention", *given, MPC_RT_ATTEND_CALL_MINIMUM, call)
             ? service(context, descriptor, given)
             : callWatched(service, context, *descriptor, call);
}

int32_t contract(void *context, const mpc_rt_contract_t *descriptor,
                 const mpc_rt_contract_call_t *given) {
  ValueWatch &watch = watchOf(context);
  const auto service = watch.services().contract;
  mpc_rt_contract_call_t call;
  Contraction shape;
  if (watch.found() || readCall("contraction", *given, MPC_RT_CONTRACT_CALL_MINIMUM, call) ||
      resolveContraction(*descriptor, call, shape))
    return service(context, descriptor, given);
  if (!call.kernel)
    return callWatched(service, context, *descriptor, call);
  mpc_rt_contract_t alone = *descriptor;
  alone.flags &= ~uint32_t{MPC_RT_CONTRACT_CONSUMED};
  return callApart(service, context, alone, call, shape);
}

int32_t parallelRows(void *context, const mpc_rt_call_t *call, mpc_rt_rows_fn body, int64_t count,
                     const mpc_rt_rows_product_t *products, uint32_t productCount, int64_t batch) {
  ValueWatch &watch = watchOf(context);
  watch.rows = products;
  const int32_t status =
      watch.services().parallel_rows(context, call, body, count, products, productCount, batch);
  watch.rows = nullptr;
  return status;
}

int32_t contractRows(void *context, uint32_t product, const void *lhs, void *out, int64_t begin,
                     int64_t end) {
  ValueWatch &watch = watchOf(context);
  const mpc_rt_contract_t *descriptor = watch.rows ? watch.rows[product].descriptor : nullptr;
  const auto look = [&](const void *values, mpc_rt_dtype_t dtype, int64_t width, bool isResult) {
    const size_t row = static_cast<size_t>(width) * dtypeSize(dtype);
    watch.look(descriptor->layer,
               static_cast<const uint8_t *>(values) + static_cast<size_t>(begin) * row, dtype,
               static_cast<uint64_t>((end - begin) * width), isResult);
  };
  if (descriptor)
    look(lhs, descriptor->lhs_dtype, descriptor->k.fixed, /*isResult=*/false);
  const int32_t status = watch.services().contract_rows(context, product, lhs, out, begin, end);
  if (descriptor && status == MPC_RT_OK)
    look(out, descriptor->out_dtype, descriptor->n.fixed, /*isResult=*/true);
  return status;
}

} // namespace

ValueWatch::ValueWatch(mpc_rt_services_t &services) : own(services) {
  services.contract = contract;
  services.convolve = convolve;
  services.attend = attend;
  services.parallel_rows = parallelRows;
  services.contract_rows = contractRows;
}

void ValueWatch::look(const char *layer, const void *values, mpc_rt_dtype_t dtype, uint64_t count,
                      bool isResult) {
  if (isFound || !values || areFinite(dtype, values, count))
    return;
  std::lock_guard<std::mutex> lock(mutex);
  if (isFound)
    return;
  path = layer ? layer : "";
  computed = isResult;
  isFound = true;
}

} // namespace mpc::rt

using namespace mpc::rt;

extern "C" {

mpc_rt_status_t mpc_rt_context_watch(mpc_rt_context_t *context, int32_t watches) {
  if (!context)
    return fail(MPC_RT_INVALID_ARGUMENT, "mpc_rt_context_watch: context is null");
  ContextUse use(&context->user, "mpc_rt_context_watch");
  if (use.status())
    return use.status();
  if (context->cudaOrdinal >= 0)
    return fail(MPC_RT_UNAVAILABLE, "mpc_rt_context_watch: values on a GPU are not looked at; use "
                                    "a context on the CPU");
  return guard("mpc_rt_context_watch", [&] {
    if (context->valueWatch)
      context->services = context->valueWatch->services();
    context->valueWatch.reset();
    if (watches)
      context->valueWatch = std::make_unique<ValueWatch>(context->services);
    return MPC_RT_OK;
  });
}

const char *mpc_rt_context_watched_layer(mpc_rt_context_t *context, int32_t *is_computed) {
  const ValueWatch *watch = context ? context->valueWatch.get() : nullptr;
  const bool found = watch && watch->found();
  if (is_computed)
    *is_computed = found && watch->isComputed();
  return found ? watch->layer().c_str() : nullptr;
}

} // extern "C"
