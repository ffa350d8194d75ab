// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/execution/value_watch.h"
#include "mpc-rt/watch.h"
#include "runtime/base/dtype.h"
#include "runtime/base/finite.h"
#include "runtime/base/status.h"
#include "runtime/drivers/convolution.h"
#include "runtime/drivers/result_kernel.h"
#include "runtime/execution/context.h"

namespace mpc::rt {
namespace {

ValueWatch &watchOf(void *context) { return *static_cast<mpc_rt_context_t *>(context)->valueWatch; }

// Operands before the product, its result afterwards; `run` is the service as it was.
template <typename Run>
int32_t contractWatched(void *context, const mpc_rt_contract_t &descriptor, const void *lhs,
                        const void *rhs, const void *bias, void *out, int64_t batch, bool readsRhs,
                        Run run) {
  ValueWatch &watch = watchOf(context);
  Contraction shape;
  if (watch.found() ||
      resolveContraction(descriptor, lhs, rhs, bias, out, batch, shape) != MPC_RT_OK)
    return run();
  watch.look(descriptor.layer, lhs, descriptor.lhs_dtype, shape.lhsElements(), /*isResult=*/false);
  if (readsRhs)
    watch.look(descriptor.layer, rhs, shape.rhs, shape.rhsElements(), /*isResult=*/false);
  const int32_t status = run();
  if (status == MPC_RT_OK)
    watch.look(descriptor.layer, out, shape.out, shape.outElements(), /*isResult=*/true);
  return status;
}

int32_t contract(void *context, const mpc_rt_contract_t *descriptor, const void *lhs,
                 const void *rhs, const void *bias, void *out, int64_t batch) {
  // A copy of weights that was never made is not read (waiting_shadow.h).
  return contractWatched(context, *descriptor, lhs, rhs, bias, out, batch,
                         descriptor->rhs_variable < 0, [&] {
                           return watchOf(context).services().contract(context, descriptor, lhs,
                                                                       rhs, bias, out, batch);
                         });
}

// The product and then the kernel, which may replace what it overflowed to.
int32_t contractAndLaunch(void *context, const mpc_rt_contract_t *descriptor, const void *lhs,
                          const void *rhs, const void *bias, void *out, mpc_rt_kernel_fn kernel,
                          void *const *arguments, uint32_t argumentCount, uint32_t result,
                          int64_t grain, int64_t batch) {
  ValueWatch &watch = watchOf(context);
  mpc_rt_contract_t alone = *descriptor;
  alone.flags &= ~uint32_t{MPC_RT_CONTRACT_CONSUMED};
  Contraction shape;
  if (watch.found() || argumentCount > MPC_RT_MAX_KERNEL_ARGUMENTS || result >= argumentCount ||
      resolveContraction(*descriptor, lhs, rhs, bias, out, batch, shape) != MPC_RT_OK)
    return watch.services().contract_and_launch(context, descriptor, lhs, rhs, bias, out, kernel,
                                                arguments, argumentCount, result, grain, batch);
  if (!out) {
    const uint64_t bytes = shape.outElements() * dtypeSize(shape.out);
    if (!watch.result.reserve(bytes))
      return failToAllocate(descriptor->layer ? descriptor->layer : "contraction", bytes,
                            watch.result.problem());
    out = watch.result.data();
  }
  if (int32_t status = contract(context, &alone, lhs, rhs, bias, out, batch))
    return status;
  const ResultKernel launched{kernel, arguments, argumentCount, result, grain};
  launched.run(*static_cast<mpc_rt_context_t *>(context)->driver, out, shape.outElements());
  return MPC_RT_OK;
}

int32_t convolve(void *context, const mpc_rt_convolution_t *descriptor, const void *lhs,
                 const void *rhs, const void *bias, void *out, int64_t batch) {
  ValueWatch &watch = watchOf(context);
  const auto run = [&] {
    return watch.services().convolve(context, descriptor, lhs, rhs, bias, out, batch);
  };
  Convolution shape;
  if (watch.found() ||
      resolveConvolution(*descriptor, lhs, rhs, bias, out, batch, shape) != MPC_RT_OK)
    return run();
  watch.look(descriptor->layer, lhs, descriptor->lhs_dtype, uint64_t(shape.lhsElements()), false);
  const int32_t status = run();
  if (status == MPC_RT_OK)
    watch.look(descriptor->layer, out, descriptor->out_dtype, uint64_t(shape.outElements()), true);
  return status;
}

// attend, and the same with a mask, as `run`.
template <typename Run>
int32_t attendWatched(void *context, const mpc_rt_attention_t &descriptor, const void *query,
                      const void *key, const void *value, const void *out, int64_t batch, Run run) {
  ValueWatch &watch = watchOf(context);
  const auto rows = uint64_t(descriptor.batch.fixed + descriptor.batch.per_sample * batch);
  const uint64_t targets = rows * uint64_t(descriptor.targets * descriptor.heads),
                 sources = rows * uint64_t(descriptor.sources * descriptor.heads),
                 width = uint64_t(descriptor.width), valueWidth = uint64_t(descriptor.value_width);
  watch.look(descriptor.layer, query, descriptor.dtype, targets * width, /*isResult=*/false);
  watch.look(descriptor.layer, key, descriptor.dtype, sources * width, /*isResult=*/false);
  watch.look(descriptor.layer, value, descriptor.dtype, sources * valueWidth, /*isResult=*/false);
  const int32_t status = run();
  if (status == MPC_RT_OK)
    watch.look(descriptor.layer, out, descriptor.dtype, targets * valueWidth, /*isResult=*/true);
  return status;
}

int32_t attend(void *context, const mpc_rt_attention_t *descriptor, const void *query,
               const void *key, const void *value, void *out, void *logSums, int64_t batch) {
  return attendWatched(context, *descriptor, query, key, value, out, batch, [&] {
    return watchOf(context).services().attend(context, descriptor, query, key, value, out, logSums,
                                              batch);
  });
}

int32_t attendMasked(void *context, const mpc_rt_attention_t *descriptor, const void *query,
                     const void *key, const void *value, void *out, void *logSums,
                     const uint8_t *mask, int64_t batch) {
  return attendWatched(context, *descriptor, query, key, value, out, batch, [&] {
    return watchOf(context).services().attend_masked(context, descriptor, query, key, value, out,
                                                     logSums, mask, batch);
  });
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
  services.contract_and_launch = contractAndLaunch;
  services.convolve = convolve;
  services.attend = attend;
  services.attend_masked = attendMasked;
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
