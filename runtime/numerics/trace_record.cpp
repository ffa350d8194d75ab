// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/numerics/trace_record.h"
#include "runtime/base/floating_environment.h"
#include "runtime/base/status.h"

#include <algorithm>
#include <array>

namespace mpc::rt {
namespace {

// widenElements() of `value` minus `before`, in `room`; `other` is room, too. Float64 are
// subtracted as such.
const float *subtractElements(const VectorKernels &kernels, mpc_rt_dtype_t dtype,
                              const mpc_rt_trace_call_t &call, uint64_t first, size_t count,
                              float *room, float *other) noexcept {
  if (dtype == MPC_RT_FLOAT64) {
    const auto *now = static_cast<const double *>(call.value) + first,
               *then = static_cast<const double *>(call.before) + first;
    for (size_t i = 0; i < count; ++i)
      room[i] = static_cast<float>(now[i] - then[i]);
    return room;
  }
  const float *now = widenElements(kernels, dtype, call.value, first, count, room),
              *then = widenElements(kernels, dtype, call.before, first, count, other);
  for (size_t i = 0; i < count; ++i)
    room[i] = now[i] - then[i];
  return room;
}

} // namespace

TraceRecord::Slot *TraceRecord::slotAt(uint32_t slot) {
  constexpr uint32_t most = 1u << 20;
  if (slot >= most) {
    fail(MPC_RT_INVALID_ARGUMENT, "slot %u of a traced value; expected less than %u", slot, most);
    return nullptr;
  }
  if (slot >= slots.size())
    slots.resize(slot + 1);
  return &slots[slot];
}

void TraceRecord::reset() {
  for (Slot &slot : slots) {
    slot.statistics = ValueStatistics();
    slot.descriptor = nullptr; // the next run may be one of another entry
  }
}

// A value that is reported, and where its elements are kept.
struct TraceRecord::Job {
  const TraceRecord &record;
  const mpc_rt_trace_t &descriptor;
  const mpc_rt_trace_call_t &call;
  float *kept;
  bool compares;
  uint64_t count, perRow;
  // Each has the elements of a part, so that sums do not depend on the number of threads.
  std::vector<ValueStatistics> parts;
};

constexpr uint64_t elementsOfPart = 8 * statisticsBlock;

void TraceRecord::look(const Job &job, uint64_t first, uint64_t end,
                       ValueStatistics &statistics) const {
  const KeepDenormals environment;
  const mpc_rt_trace_t &descriptor = job.descriptor;
  const bool isChange = job.call.before && (descriptor.flags & MPC_RT_TRACE_CHANGE);
  std::array<float, statisticsBlock> room, roomBefore;
  if (mode == MPC_RT_TRACE_STATISTICS && !job.call.before && descriptor.dtype == MPC_RT_BFLOAT16) {
    const auto *values = static_cast<const uint16_t *>(job.call.value);
    for (; first < end; first += statisticsBlock)
      statistics.addBFloat16(kernels, values + first,
                             static_cast<size_t>(std::min<uint64_t>(statisticsBlock, end - first)));
    return;
  }
  for (; first < end; first += statisticsBlock) {
    const auto size = static_cast<size_t>(std::min<uint64_t>(statisticsBlock, end - first));
    const float *values = isChange ? subtractElements(vectors, descriptor.dtype, job.call, first,
                                                      size, room.data(), roomBefore.data())
                                   : widenElements(vectors, descriptor.dtype, job.call.value, first,
                                                   size, room.data());
    if (mode & MPC_RT_TRACE_STATISTICS) {
      statistics.add(kernels, isChange ? mpc_rt_dtype_t{MPC_RT_FLOAT32} : descriptor.dtype, values,
                     size);
      if (job.call.before && !isChange)
        statistics.addUnderflow(values,
                                widenElements(vectors, descriptor.before_dtype, job.call.before,
                                              first, size, roomBefore.data()),
                                size);
    }
    if (job.compares)
      statistics.compare(kernels, values, job.kept + first, first, size, job.perRow);
    if (mode & MPC_RT_TRACE_KEEP)
      std::copy_n(values, size, job.kept + first);
  }
}

mpc_rt_status_t TraceRecord::report(const mpc_rt_trace_t &descriptor,
                                    const mpc_rt_trace_call_t &call) {
  Slot *slot = mode ? slotAt(descriptor.slot) : nullptr;
  if (!slot)
    return mode ? MPC_RT_INVALID_ARGUMENT : MPC_RT_OK;
  const auto batch = static_cast<uint64_t>(call.batch);
  const uint64_t count = static_cast<uint64_t>(descriptor.count.fixed) +
                         static_cast<uint64_t>(descriptor.count.per_sample) * batch;
  slot->descriptor = &descriptor;
  const bool compares = (mode & MPC_RT_TRACE_COMPARE) && slot->kept.size() == count;
  if (mode & MPC_RT_TRACE_KEEP)
    slot->kept.resize(count);
  const bool hasRows = (descriptor.flags & MPC_RT_TRACE_ROWS) && batch;
  Job job{*this, descriptor, call, slot->kept.data(), compares, count, hasRows ? count / batch : 0,
          {}};
  if (!parallelFor || count <= elementsOfPart) {
    look(job, 0, count, slot->statistics);
  } else {
    job.parts.resize((count + elementsOfPart - 1) / elementsOfPart);
    void *argument = &job;
    parallelFor(
        context,
        [](void *const *arguments, int64_t begin, int64_t end) {
          Job &shared = *static_cast<Job *>(arguments[0]);
          for (auto part = static_cast<uint64_t>(begin); part < static_cast<uint64_t>(end); ++part)
            shared.record.look(shared, part * elementsOfPart,
                               std::min(shared.count, (part + 1) * elementsOfPart),
                               shared.parts[part]);
        },
        &argument, static_cast<int64_t>(job.parts.size()), 1);
    for (const ValueStatistics &part : job.parts)
      slot->statistics.add(part);
  }
  slot->statistics.endRun();
  return MPC_RT_OK;
}

mpc_rt_traced_value_t TraceRecord::value(uint32_t slot) const {
  mpc_rt_traced_value_t value = slots[slot].statistics.result();
  value.descriptor = slots[slot].descriptor;
  return value;
}

mpc_rt_status_t TraceRecord::expect(uint32_t index, const float *elements, uint64_t count) {
  Slot *slot = slotAt(index);
  if (!slot)
    return MPC_RT_INVALID_ARGUMENT;
  slot->kept.assign(elements, elements + count);
  return MPC_RT_OK;
}

} // namespace mpc::rt
