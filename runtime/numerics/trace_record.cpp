// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/numerics/trace_record.h"
#include "runtime/base/floating_environment.h"
#include "runtime/base/status.h"

#include <algorithm>
#include <array>

namespace mpc::rt {

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
    slot.statistics.clear();
    slot.descriptor = nullptr; // the next run may be one of another entry
  }
}

// The dtype whose numbers the elements are. A change is subtracted in float32, of float64 in that.
static mpc_rt_dtype_t tracedDtype(const mpc_rt_trace_t &trace) {
  if (trace.flags & MPC_RT_TRACE_FLOAT8_E4M3FN)
    return MPC_RT_FLOAT8_E4M3FN;
  if (trace.flags & MPC_RT_TRACE_FLOAT8_E5M2)
    return MPC_RT_FLOAT8_E5M2;
  const bool isWide = trace.dtype == MPC_RT_FLOAT64;
  return (trace.flags & MPC_RT_TRACE_CHANGE) && !isWide ? mpc_rt_dtype_t{MPC_RT_FLOAT32}
                                                        : trace.dtype;
}

FormatBounds TraceRecord::boundsOf(const mpc_rt_trace_t &descriptor) {
  return mpc::rt::boundsOf(tracedDtype(descriptor));
}

mpc_rt_status_t TraceRecord::add(const mpc_rt_trace_t &descriptor, const ValueCounts &counts) {
  Slot *slot = slotAt(descriptor.slot);
  if (!slot)
    return MPC_RT_INVALID_ARGUMENT;
  slot->descriptor = &descriptor;
  slot->statistics.add(counts);
  slot->statistics.endRun();
  return MPC_RT_OK;
}

// A value that is reported, and where its elements are kept.
struct TraceRecord::Job {
  const TraceRecord &record;
  const mpc_rt_trace_t &descriptor;
  const mpc_rt_trace_call_t &call;
  float *kept;
  bool compares;
  uint64_t count, perRow;
  ValueStatistics *parts;

  bool changes() const { return call.before && (descriptor.flags & MPC_RT_TRACE_CHANGE); }
};

// Small enough for threads to have the same to do. A part has its own sums, so that these do not
// depend on the number of threads.
constexpr uint64_t elementsOfPart = 2 * statisticsBlock;

// Elements as float32, in place or in room.
struct TraceRecord::Block {
  const float *values;
  size_t count;
  std::array<float, statisticsBlock> room, roomBefore;
};

// widenElements(), or what was added to those before. Float64 are subtracted as such.
void TraceRecord::read(const Job &job, uint64_t first, Block &block) const {
  const mpc_rt_dtype_t dtype = job.descriptor.dtype;
  const bool isChange = job.changes();
  if (isChange && dtype == MPC_RT_FLOAT64) {
    const auto *now = static_cast<const double *>(job.call.value) + first,
               *then = static_cast<const double *>(job.call.before) + first;
    for (size_t i = 0; i < block.count; ++i)
      block.room[i] = static_cast<float>(now[i] - then[i]);
    block.values = block.room.data();
    return;
  }
  block.values =
      widenElements(vectors, dtype, job.call.value, first, block.count, block.room.data());
  if (!isChange)
    return;
  kernels.subtract(
      block.values,
      widenElements(vectors, dtype, job.call.before, first, block.count, block.roomBefore.data()),
      block.count, block.room.data());
  block.values = block.room.data();
}

// Elements that a narrowing cast made 0.
uint64_t TraceRecord::countLost(const Job &job, uint64_t first, Block &block) const {
  return kernels.countLost(block.values,
                           widenElements(vectors, job.descriptor.before_dtype, job.call.before,
                                         first, block.count, block.roomBefore.data()),
                           block.count);
}

void TraceRecord::look(const Job &job, uint64_t first, uint64_t end,
                       ValueStatistics &statistics) const {
  const KeepDenormals environment;
  const bool isChange = job.changes(), isNarrowed = job.call.before && !isChange;
  const mpc_rt_dtype_t dtype = tracedDtype(job.descriptor);
  const bool countsInPlace = mode == MPC_RT_TRACE_STATISTICS && dtype == MPC_RT_BFLOAT16;
  Block block;
  for (; first < end; first += block.count) {
    block.count = static_cast<size_t>(std::min<uint64_t>(statisticsBlock, end - first));
    size_t zeros = 0;
    if (countsInPlace)
      zeros = statistics.addBFloat16(kernels, static_cast<const uint16_t *>(job.call.value) + first,
                                     block.count);
    if (countsInPlace && !(isNarrowed && zeros))
      continue;
    read(job, first, block);
    if ((mode & MPC_RT_TRACE_STATISTICS) && !countsInPlace)
      zeros = statistics.add(kernels, dtype, block.values, block.count);
    if ((mode & MPC_RT_TRACE_STATISTICS) && isNarrowed && zeros)
      statistics.addUnderflow(countLost(job, first, block));
    if (job.compares)
      statistics.compare(kernels, block.values, job.kept + first, first, block.count, job.perRow);
    if (mode & MPC_RT_TRACE_KEEP)
      std::copy_n(block.values, block.count, job.kept + first);
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
  Job job{*this,  descriptor, call, slot->kept.data(), compares, count, hasRows ? count / batch : 0,
          nullptr};
  if (!parallelFor || count <= elementsOfPart) {
    look(job, 0, count, slot->statistics);
  } else {
    const uint64_t partCount = (count + elementsOfPart - 1) / elementsOfPart;
    if (parts.size() < partCount)
      parts.resize(partCount);
    job.parts = parts.data();
    void *argument = &job;
    parallelFor(
        context,
        [](void *const *arguments, int64_t begin, int64_t end) {
          const Job &shared = *static_cast<const Job *>(arguments[0]);
          for (auto part = static_cast<uint64_t>(begin); part < static_cast<uint64_t>(end); ++part)
            shared.record.look(shared, part * elementsOfPart,
                               std::min(shared.count, (part + 1) * elementsOfPart),
                               shared.parts[part]);
        },
        &argument, static_cast<int64_t>(partCount), 1);
    for (uint64_t part = 0; part < partCount; ++part) {
      slot->statistics.add(parts[part]);
      parts[part].clear();
    }
  }
  slot->statistics.endRun();
  return MPC_RT_OK;
}

mpc_rt_traced_value_t TraceRecord::value(uint32_t slot) const {
  mpc_rt_traced_value_t value = slots[slot].statistics.result();
  value.descriptor = slots[slot].descriptor;
  if (value.descriptor)
    value.dtype = tracedDtype(*value.descriptor);
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
