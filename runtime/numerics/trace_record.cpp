// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/numerics/trace_record.h"
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
  for (Slot &slot : slots)
    slot.statistics = ValueStatistics();
}

mpc_rt_status_t TraceRecord::report(const mpc_rt_trace_t &descriptor,
                                    const mpc_rt_trace_call_t &call) {
  Slot *slot = mode ? slotAt(descriptor.slot) : nullptr;
  if (!slot)
    return mode ? MPC_RT_INVALID_ARGUMENT : MPC_RT_OK;
  const auto batch = static_cast<uint64_t>(call.batch);
  const uint64_t count = static_cast<uint64_t>(descriptor.count.fixed) +
                         static_cast<uint64_t>(descriptor.count.per_sample) * batch;
  const uint64_t perRow = (descriptor.flags & MPC_RT_TRACE_ROWS) && batch ? count / batch : 0;
  slot->descriptor = &descriptor;
  const bool compares = (mode & MPC_RT_TRACE_COMPARE) && slot->kept.size() == count;
  if (mode & MPC_RT_TRACE_KEEP)
    slot->kept.resize(count);
  std::array<float, statisticsBlock> values, before;
  for (uint64_t first = 0; first < count; first += statisticsBlock) {
    const auto size = static_cast<size_t>(std::min<uint64_t>(statisticsBlock, count - first));
    widenElements(descriptor.dtype, call.value, first, size, values.data());
    if (mode & MPC_RT_TRACE_STATISTICS) {
      slot->statistics.add(kernels, descriptor.dtype, values.data(), size);
      if (call.before) {
        widenElements(descriptor.before_dtype, call.before, first, size, before.data());
        slot->statistics.addUnderflow(values.data(), before.data(), size);
      }
    }
    if (compares)
      slot->statistics.compare(kernels, values.data(), slot->kept.data() + first, first, size,
                               perRow);
    if (mode & MPC_RT_TRACE_KEEP)
      std::copy_n(values.data(), size, slot->kept.data() + first);
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
