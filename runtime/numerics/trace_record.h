// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A context keeps a record of the values that its entries report.
#ifndef MPC_RUNTIME_NUMERICS_TRACE_RECORD_H
#define MPC_RUNTIME_NUMERICS_TRACE_RECORD_H

#include "runtime/numerics/value_statistics.h"

#include <vector>

namespace mpc::rt {

class TraceRecord {
public:
  using ParallelFor = decltype(mpc_rt_services_t::parallel_for);
  // Loops are shared by `parallelFor`, a service of `context`; null: they are not.
  explicit TraceRecord(int isa, ParallelFor parallelFor = nullptr, void *context = nullptr)
      : kernels(statisticsKernels(isa)), vectors(vectorKernels(isa)), parallelFor(parallelFor),
        context(context) {}

  void setMode(uint32_t bits) { mode = bits; }
  bool isOn() const { return mode != 0; }
  // Whether nobody needs the elements themselves: a device may count them, in these bounds.
  bool countsAlone() const { return mode == MPC_RT_TRACE_STATISTICS; }
  static FormatBounds boundsOf(const mpc_rt_trace_t &descriptor);
  // In place of report(), behind the run.
  mpc_rt_status_t add(const mpc_rt_trace_t &descriptor, const ValueCounts &counts);
  void reset();
  // A call of the service, which has been checked.
  mpc_rt_status_t report(const mpc_rt_trace_t &descriptor, const mpc_rt_trace_call_t &call);
  uint32_t size() const { return static_cast<uint32_t>(slots.size()); }
  mpc_rt_traced_value_t value(uint32_t slot) const;
  const std::vector<float> &kept(uint32_t slot) const { return slots[slot].kept; }
  mpc_rt_status_t expect(uint32_t slot, const float *elements, uint64_t count);

private:
  struct Slot {
    const mpc_rt_trace_t *descriptor = nullptr;
    ValueStatistics statistics;
    std::vector<float> kept;
  };
  // Null, and the slot is refused, when there are more than any model has.
  Slot *slotAt(uint32_t slot);

  struct Job;
  struct Block;
  void read(const Job &job, uint64_t first, Block &block) const;
  uint64_t countLost(const Job &job, uint64_t first, Block &block) const;
  // Adds up, compares and keeps the elements [first, end).
  void look(const Job &job, uint64_t first, uint64_t end, ValueStatistics &statistics) const;

  const StatisticsKernels &kernels;
  const VectorKernels &vectors;
  const ParallelFor parallelFor;
  void *const context;
  uint32_t mode = 0;
  std::vector<Slot> slots;
  std::vector<ValueStatistics> parts; // cleared between reports
};

} // namespace mpc::rt

#endif
