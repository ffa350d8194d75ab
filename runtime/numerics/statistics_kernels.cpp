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

void compare(const float *values, const float *kept, size_t count, BlockErrors &result) {
  uint32_t compared = 0, lost = 0, overflowed = 0, invalid = 0, keptLargest = 0;
  double maxError = 0, maxRelative = 0;
  double errors[lanes] = {}, squares[lanes] = {}, products[lanes] = {};
  for (size_t begin = 0; begin < count; begin += lanes)
    for (size_t j = 0; j < lanes && begin + j < count; ++j) {
      const float x = values[begin + j], t = kept[begin + j];
      const uint32_t mx = magnitudeOf(x), mt = magnitudeOf(t);
      const bool both = mx < infinityBits && mt < infinityBits;
      lost += mx == 0 && mt != 0 && mt < infinityBits;
      overflowed += mx == infinityBits && mt < infinityBits;
      invalid += mx > infinityBits && mt <= infinityBits;
      compared += both;
      const double a = both ? static_cast<double>(x) : 0.0, b = both ? static_cast<double>(t) : 0.0;
      const double error = a < b ? b - a : a - b, size = b < 0 ? -b : b;
      maxError = error > maxError ? error : maxError;
      const double relative = size > 0 ? error / size : 0;
      maxRelative = relative > maxRelative ? relative : maxRelative;
      errors[j] += error * error;
      squares[j] += b * b;
      products[j] += a * b;
      const uint32_t finite = mt < infinityBits ? mt : 0;
      keptLargest = finite > keptLargest ? finite : keptLargest;
    }
  result.compared = compared;
  result.lost = lost;
  result.overflowed = overflowed;
  result.invalid = invalid;
  result.keptLargest = keptLargest;
  result.maxError = maxError;
  result.maxRelativeError = maxRelative;
  result.sumOfSquares = add(errors);
  result.keptSumOfSquares = add(squares);
  result.products = add(products);
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
