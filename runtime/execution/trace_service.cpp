// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/base/status.h"
#include "runtime/drivers/call_struct.h"
#include "runtime/execution/context.h"
#include "runtime/execution/services.h"

#include <algorithm>
#include <cstring>

using namespace mpc::rt;

namespace {

int32_t trace(void *context, const mpc_rt_trace_t *descriptor, const mpc_rt_trace_call_t *given) {
  auto &used = *static_cast<mpc_rt_context_t *>(context);
  if (used.isReserving)
    return MPC_RT_OK;
  // Also where nothing is kept: a later run of the entry may keep it.
  used.driver->deviceMemory().waitsForHost();
  TraceRecord *record = used.traceRecord.get();
  if (!record || !record->isOn())
    return MPC_RT_OK;
  const char *layer = descriptor->layer ? descriptor->layer : "trace";
  return guard(layer, [&]() -> mpc_rt_status_t {
    if (auto status = checkDescriptor(layer, *descriptor))
      return status;
    mpc_rt_trace_call_t call;
    if (auto status = readCall(layer, *given, MPC_RT_TRACE_CALL_MINIMUM, call))
      return status;
    ValueCounter *counter =
        record->countsAlone() ? used.driver->deviceMemory().valueCounter() : nullptr;
    if (counter)
      return counter->count(*descriptor, call, TraceRecord::boundsOf(*descriptor));
    if (used.driver->ownsMemory())
      if (auto status = used.tracedElements->bring(*descriptor, call))
        return status;
    return record->report(*descriptor, call);
  });
}

// The threads of the host, where parallel_for is the device's.
void parallelForOfHost(void *context, mpc_rt_kernel_fn kernel, void *const *arguments,
                       int64_t count, int64_t grain) noexcept {
  ThreadTeam &team = static_cast<mpc_rt_context_t *>(context)->hostTeam;
  team.begin();
  team.parallelFor(kernel, arguments, count, grain);
  team.end();
}

} // namespace

mpc_rt_status_t mpc::rt::collectCounts(mpc_rt_context_t &context) {
  ValueCounter *counter =
      context.traceRecord ? context.driver->deviceMemory().valueCounter() : nullptr;
  if (!counter)
    return MPC_RT_OK;
  mpc_rt_status_t status = MPC_RT_OK;
  const mpc_rt_status_t collected =
      counter->collect([&](const mpc_rt_trace_t &descriptor, const ValueCounts &counts) {
        if (auto added = context.traceRecord->add(descriptor, counts))
          status = added;
      });
  return collected ? collected : status;
}

void mpc::rt::setTrace(mpc_rt_services_t &services) noexcept { services.trace = trace; }

extern "C" {

mpc_rt_status_t mpc_rt_context_trace(mpc_rt_context_t *context, uint32_t bits) {
  if (!context)
    return fail(MPC_RT_INVALID_ARGUMENT, "mpc_rt_context_trace: context is null");
  if (bits & ~uint32_t{MPC_RT_TRACE_STATISTICS | MPC_RT_TRACE_KEEP | MPC_RT_TRACE_COMPARE})
    return fail(MPC_RT_INVALID_ARGUMENT, "mpc_rt_context_trace: unknown bits in %u", bits);
  ContextUse use(&context->user, "mpc_rt_context_trace");
  if (use.status())
    return use.status();
  return guard("mpc_rt_context_trace", [&] {
    const bool isApart = context->driver->ownsMemory();
    if (isApart && !context->tracedElements)
      context->tracedElements = std::make_unique<TracedElements>(context->driver->deviceMemory());
    if (!context->traceRecord)
      context->traceRecord = std::make_unique<TraceRecord>(
          context->isa, isApart ? parallelForOfHost : context->services.parallel_for, context);
    context->traceRecord->setMode(bits);
    return MPC_RT_OK;
  });
}

mpc_rt_status_t mpc_rt_context_reset_traced(mpc_rt_context_t *context) {
  if (!context)
    return fail(MPC_RT_INVALID_ARGUMENT, "mpc_rt_context_reset_traced: context is null");
  if (context->traceRecord)
    context->traceRecord->reset();
  return MPC_RT_OK;
}

uint32_t mpc_rt_context_traced_count(const mpc_rt_context_t *context) {
  return context && context->traceRecord ? context->traceRecord->size() : 0;
}

mpc_rt_status_t mpc_rt_context_traced_value(const mpc_rt_context_t *context, uint32_t slot,
                                            mpc_rt_traced_value_t *value) {
  if (!value || slot >= mpc_rt_context_traced_count(context))
    return fail(MPC_RT_INVALID_ARGUMENT, "mpc_rt_context_traced_value: no value %u", slot);
  const uint32_t size = value->struct_size;
  const mpc_rt_traced_value_t known = context->traceRecord->value(slot);
  std::memset(value, 0, size);
  std::memcpy(value, &known, std::min<size_t>(size, sizeof known));
  value->struct_size = size;
  return MPC_RT_OK;
}

const float *mpc_rt_context_traced_elements(const mpc_rt_context_t *context, uint32_t slot,
                                            uint64_t *count) {
  const bool known = slot < mpc_rt_context_traced_count(context);
  const float *elements = known ? context->traceRecord->kept(slot).data() : nullptr;
  if (count)
    *count = known ? context->traceRecord->kept(slot).size() : 0;
  return known && !context->traceRecord->kept(slot).empty() ? elements : nullptr;
}

mpc_rt_status_t mpc_rt_context_expect_traced(mpc_rt_context_t *context, uint32_t slot,
                                             const float *elements, uint64_t count) {
  if (!context || !context->traceRecord || (!elements && count))
    return fail(MPC_RT_INVALID_ARGUMENT,
                "mpc_rt_context_expect_traced: needs elements, and a context that traces");
  return guard("mpc_rt_context_expect_traced",
               [&] { return context->traceRecord->expect(slot, elements, count); });
}

} // extern "C"
