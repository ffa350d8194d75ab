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

// Lanes are added in pairs, the same on every level.
inline double add(double *sums) {
  for (size_t half = lanes / 2; half; half /= 2)
    for (size_t i = 0; i < half; ++i)
      sums[i] += sums[i + half];
  return sums[0];
}

// Eight elements at a time. GCC's vectors are what the level has, or several of these.
typedef float Floats __attribute__((vector_size(4 * lanes)));
typedef int32_t Ints __attribute__((vector_size(4 * lanes)));
typedef double Doubles __attribute__((vector_size(8 * lanes)));
typedef int64_t Longs __attribute__((vector_size(8 * lanes)));
typedef uint32_t Counts __attribute__((vector_size(4 * lanes)));

inline Doubles magnitudeOf(Doubles value) {
  return reinterpret_cast<Doubles>(reinterpret_cast<Longs>(value) & INT64_MAX);
}
inline Doubles larger(Doubles a, Doubles b) { return a > b ? a : b; }

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

// Where all elements are finite: their sums, how many are 0, and between which magnitudes the
// others lie.
struct Sums {
  Ints zero = {}, largest = {};
  Counts below = ~Counts{}; // the smallest magnitude without 1: 0 becomes the largest of all
  Doubles sum = {}, squares = {};

  void add(Floats x) {
    const Ints m = reinterpret_cast<Ints>(x) & INT32_MAX;
    zero -= m == 0; // comparisons are -1 where they hold
    largest = m > largest ? m : largest;
    const Counts key = reinterpret_cast<Counts>(m) - 1;
    below = key < below ? key : below;
    const Doubles wide = __builtin_convertvector(x, Doubles);
    sum += wide;
    squares += wide * wide;
  }
  void add(const Sums &other) {
    zero += other.zero;
    largest = other.largest > largest ? other.largest : largest;
    below = other.below < below ? other.below : below;
    sum += other.sum;
    squares += other.squares;
  }
};

void addUp(const float *values, size_t count, BlockStatistics &result) {
  // Each of two waits for its own additions only.
  Sums sums[2];
  size_t i = 0;
  for (; i + 2 * lanes <= count; i += 2 * lanes) {
    sums[0].add(load(values + i, lanes));
    sums[1].add(load(values + i + lanes, lanes));
  }
  uint32_t missing = 0;
  for (; i < count; i += lanes) {
    const size_t left = count - i < lanes ? count - i : lanes;
    sums[0].add(load(values + i, left));
    missing += static_cast<uint32_t>(lanes - left);
  }
  sums[0].add(sums[1]);
  result.zero = total(sums[0].zero) - missing;
  result.largest = 0;
  result.smallest = ~0u;
  for (size_t j = 0; j < lanes; ++j) {
    const auto most = static_cast<uint32_t>(sums[0].largest[j]);
    result.largest = most > result.largest ? most : result.largest;
    const uint32_t least = sums[0].below[j];
    result.smallest =
        least < infinityBits && least + 1 < result.smallest ? least + 1 : result.smallest;
  }
  result.sum = total(sums[0].sum);
  result.sumOfSquares = total(sums[0].squares);
}

// Does the same where some elements are infinite or NaN, which no sum has.
void addUpFinite(const float *values, size_t count, BlockStatistics &result) {
  float finite[statisticsBlock];
  uint32_t infinite = 0, nan = 0;
  for (size_t i = 0; i < count; ++i) {
    const uint32_t m = magnitudeOf(values[i]);
    infinite += m == infinityBits;
    nan += m > infinityBits;
    finite[i] = m < infinityBits ? values[i] : 0.0F;
  }
  addUp(finite, count, result);
  result.infinite = infinite;
  result.nan = nan;
  result.zero -= infinite + nan;
}

// A byte for each exponent's bits.
typedef uint8_t Bytes __attribute__((vector_size(32)));
static_assert(statisticsBlock / sizeof(Bytes) <= UINT8_MAX, "a count fits a lane");
constexpr size_t together = 4; // exponents that are counted at once

uint32_t totalOf(Bytes counts) {
  uint32_t sum = 0;
  for (size_t i = 0; i < sizeof counts; ++i)
    sum += counts[i];
  return sum;
}

// Counts exponents from `first` to `last`, where they are few: each by a comparison of all.
void countFew(const Bytes *places, size_t vectors, uint32_t first, uint32_t last,
              uint32_t *exponents) {
  for (uint32_t e = first; e <= last; e += together) {
    Bytes wanted[together], counts[together] = {};
    for (uint32_t j = 0; j < together; ++j)
      wanted[j] = Bytes{} + static_cast<uint8_t>(e + j);
    for (size_t i = 0; i < vectors; ++i)
      for (size_t j = 0; j < together; ++j)
        counts[j] -= reinterpret_cast<Bytes>(places[i] == wanted[j]);
    for (uint32_t j = 0; j < together && e + j <= last; ++j)
      exponents[e + j] = totalOf(counts[j]);
  }
}

void countMany(const uint8_t *places, size_t count, uint32_t *exponents) {
  static_assert(statisticsBlock <= UINT16_MAX, "a count fits");
  // Equal exponents in a row would wait for each other's count.
  uint16_t tables[lanes][256] = {};
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

constexpr uint32_t mostOfFew = 32;

// Counts between the bounds that addUp() found.
void countExponents(const float *values, size_t count, BlockStatistics &result) {
  const uint32_t last = (result.infinite || result.nan ? infinityBits : result.largest) >> 23;
  const uint32_t first = result.smallest == ~0u ? last : result.smallest >> 23;
  alignas(sizeof(Bytes)) uint8_t places[statisticsBlock];
  for (size_t i = 0; i < count; ++i)
    places[i] = static_cast<uint8_t>(magnitudeOf(values[i]) >> 23);
  if (last - first >= mostOfFew)
    return countMany(places, count, result.exponents);
  // The last vector is filled up with an exponent that is not counted.
  const size_t vectors = (count + sizeof(Bytes) - 1) / sizeof(Bytes);
  const auto outside = static_cast<uint8_t>(last + together);
  for (size_t i = count; i < vectors * sizeof(Bytes); ++i)
    places[i] = outside;
  for (uint32_t &exponent : result.exponents)
    exponent = 0;
  countFew(reinterpret_cast<const Bytes *>(places), vectors, first, last, result.exponents);
  result.exponents[0] = first == 0 ? result.exponents[0] : result.zero;
}

void count(const float *values, size_t count, const FormatBounds &format, BlockStatistics &result) {
  result.infinite = result.nan = result.saturated = 0;
  addUp(values, count, result);
  if (result.largest >= infinityBits)
    addUpFinite(values, count, result);
  countExponents(values, count, result);
  // Exponents below the normal ones are those of zeros and of subnormals.
  result.subnormal = 0;
  for (uint32_t e = 0; e < format.smallestNormal >> 23; ++e)
    result.subnormal += result.exponents[e];
  result.subnormal -= result.zero;
  if (result.largest >= format.largestFinite)
    for (size_t i = 0; i < count; ++i)
      result.saturated += magnitudeOf(values[i]) == format.largestFinite;
}

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
