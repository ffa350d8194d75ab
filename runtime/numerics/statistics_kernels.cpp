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
  static_assert(statisticsBlock <= UINT16_MAX, "a count fits");
  // Equal exponents in a row would wait for each other's count.
  uint16_t tables[lanes][256] = {};
  uint8_t places[statisticsBlock];
  for (size_t i = 0; i < count; ++i)
    places[i] = static_cast<uint8_t>(magnitudeOf(values[i]) >> 23);
  size_t i = 0;
  for (; i + lanes <= count; i += lanes)
    for (size_t j = 0; j < lanes; ++j)
      ++tables[j][places[i + j]];
  for (; i < count; ++i)
    ++tables[0][places[i]];
  for (size_t e = 0; e < 256; ++e) {
    uint32_t sum = 0;
    for (size_t j = 0; j < lanes; ++j)
      sum += tables[j][e];
    exponents[e] = sum;
  }
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

// Eight elements at a time. GCC's vectors are what the level has, or several of these.
typedef float Floats __attribute__((vector_size(4 * lanes)));
typedef int32_t Ints __attribute__((vector_size(4 * lanes)));
typedef double Doubles __attribute__((vector_size(8 * lanes)));
typedef int64_t Longs __attribute__((vector_size(8 * lanes)));

inline Doubles magnitudeOf(Doubles value) {
  return reinterpret_cast<Doubles>(reinterpret_cast<Longs>(value) & INT64_MAX);
}
inline Doubles larger(Doubles a, Doubles b) { return a > b ? a : b; }

struct Errors {
  Ints compared = {}, lost = {}, overflowed = {}, invalid = {}, keptLargest = {};
  Doubles maxError = {}, maxRelative = {}, squares = {}, keptSquares = {}, products = {};

  void add(Floats x, Floats t) {
    const int32_t infinity = infinityBits;
    const Ints mx = reinterpret_cast<Ints>(x) & INT32_MAX,
               mt = reinterpret_cast<Ints>(t) & INT32_MAX;
    const Ints isFinite = mt < infinity, both = (mx < infinity) & isFinite;
    // Comparisons are -1 where they hold.
    compared -= both;
    lost -= (mx == 0) & (mt != 0) & isFinite;
    overflowed -= (mx == infinity) & isFinite;
    invalid -= (mx > infinity) & (mt <= infinity);
    const Ints finite = mt & isFinite;
    keptLargest = finite > keptLargest ? finite : keptLargest;
    const Doubles a = __builtin_convertvector(
                      reinterpret_cast<Floats>(reinterpret_cast<Ints>(x) & both), Doubles),
                  b = __builtin_convertvector(
                      reinterpret_cast<Floats>(reinterpret_cast<Ints>(t) & both), Doubles);
    const Doubles error = a - b, size = magnitudeOf(b), distance = magnitudeOf(error);
    const Doubles none = {};
    maxError = larger(distance, maxError);
    maxRelative = larger(size > none ? distance / size : none, maxRelative);
    squares += error * error;
    keptSquares += b * b;
    products += a * b;
  }
};

inline Floats load(const float *values, size_t count) {
  Floats result = {};
  __builtin_memcpy(&result, values, count * sizeof(float));
  return result;
}

inline uint32_t total(Ints counts) {
  uint32_t sum = 0;
  for (size_t i = 0; i < lanes; ++i)
    sum += static_cast<uint32_t>(counts[i]);
  return sum;
}
inline double total(Doubles values) {
  double sums[lanes];
  __builtin_memcpy(sums, &values, sizeof sums);
  return add(sums);
}
inline double largestOf(Doubles values) {
  double result = 0;
  for (size_t i = 0; i < lanes; ++i)
    result = values[i] > result ? values[i] : result;
  return result;
}

void compare(const float *values, const float *kept, size_t count, BlockErrors &result) {
  Errors errors;
  size_t i = 0;
  for (; i + lanes <= count; i += lanes)
    errors.add(load(values + i, lanes), load(kept + i, lanes));
  // Zeros fill the last vector up: they count as compared, and change nothing else.
  const size_t missing = i < count ? lanes - (count - i) : 0;
  if (missing)
    errors.add(load(values + i, count - i), load(kept + i, count - i));
  result.compared = total(errors.compared) - static_cast<uint32_t>(missing);
  result.lost = total(errors.lost);
  result.overflowed = total(errors.overflowed);
  result.invalid = total(errors.invalid);
  result.keptLargest = 0;
  for (size_t j = 0; j < lanes; ++j) {
    const auto bits = static_cast<uint32_t>(errors.keptLargest[j]);
    result.keptLargest = bits > result.keptLargest ? bits : result.keptLargest;
  }
  result.maxError = largestOf(errors.maxError);
  result.maxRelativeError = largestOf(errors.maxRelative);
  result.sumOfSquares = total(errors.squares);
  result.keptSumOfSquares = total(errors.keptSquares);
  result.products = total(errors.products);
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
