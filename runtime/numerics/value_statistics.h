// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Counts and sums of one traced value, over all runs so far.
#ifndef MPC_RUNTIME_NUMERICS_VALUE_STATISTICS_H
#define MPC_RUNTIME_NUMERICS_VALUE_STATISTICS_H

#include "mpc-rt/numerics.h"
#include "runtime/base/vector_kernels.h"
#include "runtime/numerics/statistics_kernels.h"

#include <array>

namespace mpc::rt {

// Those of the format whose numbers the elements are.
FormatBounds boundsOf(mpc_rt_dtype_t dtype) noexcept;

// `count` elements from `first` on as float32: in place, or in `room`. A float64 is rounded; one
// beyond float32 becomes infinite.
const float *widenElements(const VectorKernels &kernels, mpc_rt_dtype_t dtype, const void *values,
                           uint64_t first, size_t count, float *room) noexcept;

// Blocks are no longer than statisticsBlock.
class ValueStatistics {
public:
  // Both return how many are 0.
  size_t add(const StatisticsKernels &kernels, mpc_rt_dtype_t dtype, const float *values,
             size_t count);
  size_t addBFloat16(const StatisticsKernels &kernels, const uint16_t *values, size_t count);
  // Those that a device has counted.
  void add(const ValueCounts &counts);
  // Some are 0 of elements that were not before they were rounded.
  void addUnderflow(uint64_t lost) { total.underflow += lost; }
  // The block begins at element `first`; `perRow` elements are a row of the batch (0: no rows).
  void compare(const StatisticsKernels &kernels, const float *values, const float *kept,
               uint64_t first, size_t count, uint64_t perRow);
  // Adds those of elements behind these.
  void add(const ValueStatistics &more);
  // Rows of later runs do not count where this one had some.
  void endRun() { hasRows = total.row_count > 0; }
  // Forgets what was added.
  void clear();
  // As the C ABI has it; points into this object.
  mpc_rt_traced_value_t result() const;

private:
  void addBlock(const BlockStatistics &block, size_t count);
  // The numbers that a device's counts and those of a block have in common.
  template <typename Counted> void addCounted(uint64_t count, const Counted &counted);
  void addSubnormals(const float *values, size_t count);
  void noteRow(int64_t row);
  void noteRows(const float *values, const float *kept, uint64_t first, size_t count,
                uint64_t perRow);

  uint64_t &binOf(int exponent);

  mpc_rt_traced_value_t total = {};
  std::array<uint64_t, MPC_RT_EXPONENT_COUNT> exponents = {};
  // Bins outside of these are 0: most values have few.
  size_t firstBin = MPC_RT_EXPONENT_COUNT, endBin = 0;
  bool hasRows = false;
};

} // namespace mpc::rt

#endif
