// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Counts and sums over blocks of float32 numbers, compiled once per ISA level. They look at bit
// patterns: no mode of the processor has a say in what is a subnormal.
#ifndef MPC_RUNTIME_NUMERICS_STATISTICS_KERNELS_H
#define MPC_RUNTIME_NUMERICS_STATISTICS_KERNELS_H

#include "runtime/base/value_counts.h"

#include <stddef.h>
#include <stdint.h>

namespace mpc::rt {

// The most elements of a block: its patterns fit the first cache.
constexpr size_t statisticsBlock = 4096;

struct BlockStatistics {
  uint32_t zero, subnormal, infinite, nan, saturated;
  uint32_t smallest, largest; // magnitudes of finite elements, as bits; smallest of those not 0
  double sum, sumOfSquares;
  uint32_t exponents[256]; // by the exponent's bits; [0] counts zeros and subnormals of float32
};

struct BlockErrors {
  uint32_t compared, lost, overflowed, invalid;
  uint32_t keptLargest; // as bits
  double maxError, maxRelativeError, sumOfSquares, keptSumOfSquares, products;
};

struct StatisticsKernels {
  // Replaces what `result` holds.
  void (*count)(const float *values, size_t count, const FormatBounds &format,
                BlockStatistics &result);
  // Counts elements of bfloat16 as they lie in memory.
  void (*countBFloat16)(const uint16_t *values, size_t count, BlockStatistics &result);
  void (*compare)(const float *values, const float *kept, size_t count, BlockErrors &result);
  // differences[i] = now[i] - then[i]
  void (*subtract)(const float *now, const float *then, size_t count, float *differences);
  // How many are 0 where those before are not.
  uint32_t (*countLost)(const float *values, const float *before, size_t count);
};

constexpr FormatBounds bfloat16Bounds = {0x00800000u, 0x7f7f0000u};

// `isa` is a level that this CPU has, as of vectorKernels().
const StatisticsKernels &statisticsKernels(int isa) noexcept;

} // namespace mpc::rt

#endif
