// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// This file is compiled once per ISA level: all of it is static.
#include "runtime/numerics/statistics_kernels.h"

#define MPC_CONCAT_2(a, b) a##b
#define MPC_CONCAT(a, b) MPC_CONCAT_2(a, b)

namespace mpc::rt {
namespace {

constexpr uint32_t magnitudeBits = 0x7fffffffu, infinityBits = 0x7f800000u;
constexpr size_t lanes = 8;

inline uint32_t magnitudeOf(float value) {
  uint32_t bits;
  __builtin_memcpy(&bits, &value, sizeof(bits));
  return bits & magnitudeBits;
}

inline double finiteOf(float value, uint32_t magnitude) {
  return magnitude < infinityBits ? static_cast<double>(value) : 0.0;
}

// Lanes are added in pairs, the same on every level.
inline double add(double *sums) {
  for (size_t half = lanes / 2; half; half /= 2)
    for (size_t i = 0; i < half; ++i)
      sums[i] += sums[i + half];
  return sums[0];
}

void countClasses(const float *values, size_t count, const FormatBounds &format,
                  BlockStatistics &result) {
  uint32_t zero = 0, subnormal = 0, infinite = 0, nan = 0, saturated = 0;
  uint32_t largest = 0, smallest = ~0u;
  for (size_t i = 0; i < count; ++i) {
    const uint32_t m = magnitudeOf(values[i]);
    zero += m == 0;
    subnormal += m < format.smallestNormal;
    infinite += m == infinityBits;
    nan += m > infinityBits;
    saturated += m == format.largestFinite;
    const uint32_t finite = m < infinityBits ? m : 0;
    largest = finite > largest ? finite : largest;
    const uint32_t whole = m - 1 < infinityBits - 1 ? m : ~0u;
    smallest = whole < smallest ? whole : smallest;
  }
  result.zero = zero;
  result.subnormal = subnormal - zero;
  result.infinite = infinite;
  result.nan = nan;
  result.saturated = saturated;
  result.largest = largest;
  result.smallest = smallest;
}

void countExponents(const float *values, size_t count, uint32_t *exponents) {
  // Equal exponents in a row would wait for each other's count.
  uint32_t tables[4][256] = {};
  size_t i = 0;
  for (; i + 4 <= count; i += 4)
    for (size_t j = 0; j < 4; ++j)
      ++tables[j][magnitudeOf(values[i + j]) >> 23];
  for (; i < count; ++i)
    ++tables[0][magnitudeOf(values[i]) >> 23];
  for (size_t e = 0; e < 256; ++e)
    exponents[e] = tables[0][e] + tables[1][e] + tables[2][e] + tables[3][e];
}

void count(const float *values, size_t count, const FormatBounds &format, BlockStatistics &result) {
  countClasses(values, count, format, result);
  countExponents(values, count, result.exponents);
  double sums[lanes] = {}, squares[lanes] = {};
  size_t i = 0;
  for (; i + lanes <= count; i += lanes)
    for (size_t j = 0; j < lanes; ++j) {
      const double value = finiteOf(values[i + j], magnitudeOf(values[i + j]));
      sums[j] += value;
      squares[j] += value * value;
    }
  for (size_t j = 0; i < count; ++i, ++j) {
    const double value = finiteOf(values[i], magnitudeOf(values[i]));
    sums[j] += value;
    squares[j] += value * value;
  }
  result.sum = add(sums);
  result.sumOfSquares = add(squares);
}

// Sums of one lane, and counts that all lanes share.
struct Lane {
  double error, kept, product;
};

inline void compareOne(float x, float t, BlockErrors &counts, Lane &sums) {
  const uint32_t mx = magnitudeOf(x), mt = magnitudeOf(t);
  const bool both = mx < infinityBits && mt < infinityBits;
  counts.lost += mx == 0 && mt != 0 && mt < infinityBits;
  counts.overflowed += mx == infinityBits && mt < infinityBits;
  counts.invalid += mx > infinityBits && mt <= infinityBits;
  counts.compared += both;
  const double a = both ? static_cast<double>(x) : 0.0, b = both ? static_cast<double>(t) : 0.0;
  const double error = a < b ? b - a : a - b, size = b < 0 ? -b : b;
  counts.maxError = error > counts.maxError ? error : counts.maxError;
  const double relative = error / (size > 0 ? size : 1) * (size > 0 ? 1 : 0);
  counts.maxRelativeError = relative > counts.maxRelativeError ? relative : counts.maxRelativeError;
  sums.error += error * error;
  sums.kept += b * b;
  sums.product += a * b;
  const uint32_t finite = mt < infinityBits ? mt : 0;
  counts.keptLargest = finite > counts.keptLargest ? finite : counts.keptLargest;
}

void compare(const float *values, const float *kept, size_t count, BlockErrors &result) {
  BlockErrors counts[lanes] = {};
  Lane sums[lanes] = {};
  size_t i = 0;
  for (; i + lanes <= count; i += lanes)
    for (size_t j = 0; j < lanes; ++j)
      compareOne(values[i + j], kept[i + j], counts[j], sums[j]);
  for (size_t j = 0; i < count; ++i, ++j)
    compareOne(values[i], kept[i], counts[j], sums[j]);
  double errors[lanes], squares[lanes], products[lanes];
  BlockErrors total = {};
  for (size_t j = 0; j < lanes; ++j) {
    total.compared += counts[j].compared;
    total.lost += counts[j].lost;
    total.overflowed += counts[j].overflowed;
    total.invalid += counts[j].invalid;
    total.keptLargest =
        counts[j].keptLargest > total.keptLargest ? counts[j].keptLargest : total.keptLargest;
    total.maxError = counts[j].maxError > total.maxError ? counts[j].maxError : total.maxError;
    total.maxRelativeError = counts[j].maxRelativeError > total.maxRelativeError
                                 ? counts[j].maxRelativeError
                                 : total.maxRelativeError;
    errors[j] = sums[j].error;
    squares[j] = sums[j].kept;
    products[j] = sums[j].product;
  }
  total.sumOfSquares = add(errors);
  total.keptSumOfSquares = add(squares);
  total.products = add(products);
  result = total;
}

} // namespace

extern const StatisticsKernels MPC_CONCAT(statisticsKernelsV, MPC_ISA_LEVEL);
constexpr StatisticsKernels MPC_CONCAT(statisticsKernelsV, MPC_ISA_LEVEL) = {count, compare};

#if MPC_ISA_LEVEL == 2
extern const StatisticsKernels statisticsKernelsV3, statisticsKernelsV4;

const StatisticsKernels &statisticsKernels(int isa) noexcept {
  return isa == 2 ? statisticsKernelsV4 : isa == 1 ? statisticsKernelsV3 : statisticsKernelsV2;
}
#endif

} // namespace mpc::rt
