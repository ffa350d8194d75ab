// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// This file is compiled once per ISA level: all of it is static.
#include "runtime/numerics/statistics_kernels.h"
#include "runtime/numerics/exponent_counts.h"

#define MPC_CONCAT_2(a, b) a##b
#define MPC_CONCAT(a, b) MPC_CONCAT_2(a, b)

namespace mpc::rt {
namespace {

constexpr uint32_t magnitudeBits = 0x7fffffffu, infinityBits = 0x7f800000u,
                   smallestNormalBits = 0x00800000u;
constexpr size_t lanes = 8, wideLanes = 2 * lanes;

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

// Eight or sixteen elements at a time. GCC's vectors are what the level has, or several of these.
typedef float Floats __attribute__((vector_size(4 * lanes)));
typedef int32_t Ints __attribute__((vector_size(4 * lanes)));
typedef double Doubles __attribute__((vector_size(8 * lanes)));
typedef int64_t Longs __attribute__((vector_size(8 * lanes)));
typedef float WideFloats __attribute__((vector_size(4 * wideLanes)));
typedef uint32_t WideBits __attribute__((vector_size(4 * wideLanes)));
typedef double WideDoubles __attribute__((vector_size(8 * wideLanes)));

inline Doubles magnitudeOf(Doubles value) {
  return reinterpret_cast<Doubles>(reinterpret_cast<Longs>(value) & INT64_MAX);
}
inline Doubles larger(Doubles a, Doubles b) { return a > b ? a : b; }

inline Floats load(const float *values, size_t count) {
  Floats result = {};
  __builtin_memcpy(&result, values, count * sizeof(float));
  return result;
}

template <typename Vector> inline Vector loadAll(const void *values) {
  Vector result;
  __builtin_memcpy(&result, values, sizeof result);
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
inline double total(WideDoubles values) {
  Doubles halves[2];
  __builtin_memcpy(halves, &values, sizeof values);
  return total(halves[0] + halves[1]);
}
inline double largestOf(Doubles values) {
  double result = 0;
  for (size_t i = 0; i < lanes; ++i)
    result = values[i] > result ? values[i] : result;
  return result;
}

// Between which magnitudes elements lie that are not 0. What is kept is twice the magnitude, which
// is a number without its sign, and of the smallest that without 1: 0 becomes the largest of all.
template <typename Bits> struct Bounds {
  Bits most = {}, below = ~Bits{};

  // Returns twice the magnitudes.
  Bits add(Bits element) {
    const Bits twice = element + element, key = twice - 1;
    most = twice > most ? twice : most;
    below = key < below ? key : below;
    return twice;
  }
  uint32_t largest() const { return __builtin_reduce_max(most) >> 1u; }
  // 0: there is none.
  uint32_t smallest() const {
    const auto least = __builtin_reduce_min(below);
    return static_cast<uint32_t>(static_cast<decltype(least)>(least + 1)) >> 1u;
  }
};

// Where all elements are finite: their sums. The square of a float32 is exact, so that levels with
// a fused addition round alike.
struct Sums {
  static constexpr size_t group = 4 * wideLanes; // of which exponents fill a vector with bytes
  Bounds<WideBits> bounds;
  WideDoubles sum = {}, squares = {};

  void add(const float *values, uint8_t *places) {
#pragma clang fp contract(fast)
    WideBits twice[4];
    for (size_t i = 0; i < 4; ++i) {
      const auto bits = loadAll<WideBits>(values + i * wideLanes);
      twice[i] = bounds.add(bits);
      const WideDoubles wide =
          __builtin_convertvector(reinterpret_cast<WideFloats>(bits), WideDoubles);
      sum += wide;
      squares += wide * wide;
    }
    // Which byte has which exponent does not matter.
    const WideBits packed = twice[0] >> 24 | (twice[1] >> 16 & 0xff00u) |
                            (twice[2] >> 8 & 0xff0000u) | (twice[3] & 0xff000000u);
    __builtin_memcpy(places, &packed, sizeof packed);
  }
};

// Adds whole groups, the last one with zeros. A byte of `places` has the exponent's bits of an
// element. Returns how many of these there are.
template <typename Adder, typename Element>
size_t addUp(const Element *values, size_t count, uint8_t *places, Adder &sums) {
  size_t i = 0;
  for (; i + Adder::group <= count; i += Adder::group)
    sums.add(values + i, places + i);
  if (i == count)
    return i;
  Element rest[Adder::group] = {};
  __builtin_memcpy(rest, values + i, (count - i) * sizeof(Element));
  sums.add(rest, places + i);
  return i + Adder::group;
}

// Counts between the bounds that are known; the first `written` places are there. What is left
// has none of float32's exponents.
void countExponents(const uint8_t *places, size_t written, size_t count, BlockStatistics &result) {
  static_assert(Sums::group % bytesOfVector == 0, "places are whole vectors");
  const size_t vectors = written / bytesOfVector;
  for (uint32_t &exponent : result.exponents)
    exponent = 0;
  const uint32_t last = result.largest >> 23, least = result.smallest >> 23;
  auto left = static_cast<uint32_t>(count) - result.infinite - result.nan;
  for (uint32_t first = least ? least : 1; first <= last;) {
    uint32_t counts[16] = {};
    const bool isFew = last - first < 8;
    if (isFew)
      countBytes<1>(places, vectors, first, counts);
    else
      countBytes<2>(places, vectors, first, counts);
    for (uint32_t i = 0; i < 16 && first + i <= last; ++i) {
      result.exponents[first + i] = counts[i];
      left -= counts[i];
    }
    first += 16;
  }
  result.exponents[0] = left;
}

void addUpWide(const float *values, size_t count, uint8_t *places, BlockStatistics &result) {
  Sums sums;
  addUp(values, count, places, sums);
  result.largest = sums.bounds.largest();
  result.smallest = result.largest ? sums.bounds.smallest() : ~0u;
  result.sum = total(sums.sum);
  result.sumOfSquares = total(sums.squares);
}

// Does the same where some elements are infinite or NaN, which no sum has. Their places are those
// of zeros.
void addUpFinite(const float *values, size_t count, uint8_t *places, BlockStatistics &result) {
  float finite[statisticsBlock];
  uint32_t infinite = 0, nan = 0;
  for (size_t i = 0; i < count; ++i) {
    const uint32_t m = magnitudeOf(values[i]);
    infinite += m == infinityBits;
    nan += m > infinityBits;
    finite[i] = m < infinityBits ? values[i] : 0.0F;
  }
  addUpWide(finite, count, places, result);
  result.infinite = infinite;
  result.nan = nan;
}

void countWide(const float *values, size_t count, const FormatBounds &format,
               BlockStatistics &result) {
  alignas(bytesOfVector) uint8_t places[statisticsBlock];
  result.infinite = result.nan = result.saturated = 0;
  addUpWide(values, count, places, result);
  if (result.largest >= infinityBits)
    addUpFinite(values, count, places, result);
  countExponents(places, (count + Sums::group - 1) / Sums::group * Sums::group, count, result);
  result.zero = result.exponents[0];
  if (result.smallest < smallestNormalBits) {
    result.zero = 0;
    for (size_t i = 0; i < count; ++i)
      result.zero += magnitudeOf(values[i]) == 0;
  }
  // Exponents below the normal ones are those of zeros and of subnormals.
  result.subnormal = 0;
  for (uint32_t e = 0; e < format.smallestNormal >> 23; ++e)
    result.subnormal += result.exponents[e];
  result.subnormal -= result.zero;
  if (result.largest >= format.largestFinite)
    for (size_t i = 0; i < count; ++i)
      result.saturated += magnitudeOf(values[i]) == format.largestFinite;
}

// ---- bfloat16 -----------------------------------------------------------------------------------

// A vector and what it is in float32: twice as many lanes as above.
constexpr size_t halfLanes = 2 * wideLanes;
typedef uint16_t Halves __attribute__((vector_size(2 * halfLanes)));

// Magnitudes between which the sum of a few squares is a normal float32; smaller ones beside
// them do not count.
constexpr uint16_t leastSquared = 0x2b80, mostSquared = 0x5d80; // 2^-40, 2^60

// Squares of 8 bits are exact in float32. Sixteen are added there, in five roundings; all others in
// float64.
struct HalfSums {
  static constexpr size_t pairs = 4, group = 2 * pairs * halfLanes;
  Bounds<Halves> bounds;
  WideDoubles sum = {}, squares = {};

  void add(const uint16_t *values, uint8_t *places) {
    WideFloats sums[pairs], squaresOf[pairs];
    for (size_t i = 0; i < pairs; ++i) {
      const auto a = loadAll<Halves>(values + 2 * i * halfLanes),
                 b = loadAll<Halves>(values + (2 * i + 1) * halfLanes);
      const Halves exponents = bounds.add(a) >> 8 | (bounds.add(b) & uint16_t{0xff00});
      __builtin_memcpy(places + 2 * i * halfLanes, &exponents, sizeof exponents);
      addFour(reinterpret_cast<WideBits>(a), reinterpret_cast<WideBits>(b), sums[i], squaresOf[i]);
    }
    sum += __builtin_convertvector((sums[0] + sums[1]) + (sums[2] + sums[3]), WideDoubles);
    squares += __builtin_convertvector(
        (squaresOf[0] + squaresOf[1]) + (squaresOf[2] + squaresOf[3]), WideDoubles);
  }

private:
  static void addFour(WideBits a, WideBits b, WideFloats &sum, WideFloats &squares) {
#pragma clang fp contract(fast)
    const auto a0 = reinterpret_cast<WideFloats>(a << 16),
               a1 = reinterpret_cast<WideFloats>(a & 0xffff0000u),
               b0 = reinterpret_cast<WideFloats>(b << 16),
               b1 = reinterpret_cast<WideFloats>(b & 0xffff0000u);
    sum = (a0 + a1) + (b0 + b1);
    squares = a0 * a0 + a1 * a1 + b0 * b0 + b1 * b1;
  }
};

void countWidened(const uint16_t *values, size_t count, BlockStatistics &result) {
  float wide[statisticsBlock];
  for (size_t i = 0; i < count; ++i) {
    const uint32_t bits = static_cast<uint32_t>(values[i]) << 16;
    __builtin_memcpy(wide + i, &bits, sizeof bits);
  }
  countWide(wide, count, bfloat16Bounds, result);
}

void countBFloat16(const uint16_t *values, size_t count, BlockStatistics &result) {
  // Vectors of SSE are short: the code below would have 4 KB more for them than elsewhere.
  if constexpr (MPC_ISA_LEVEL == 2)
    return countWidened(values, count, result);
  static_assert(statisticsBlock % HalfSums::group == 0, "places hold whole groups");
  alignas(bytesOfVector) uint8_t places[statisticsBlock];
  HalfSums sums;
  const size_t written = addUp(values, count, places, sums);
  const uint32_t largest = sums.bounds.largest();
  if (largest && (largest < leastSquared || largest > mostSquared))
    return countWidened(values, count, result);
  result.infinite = result.nan = result.saturated = 0;
  result.largest = largest << 16;
  result.smallest = largest ? sums.bounds.smallest() << 16 : ~0u;
  result.sum = total(sums.sum);
  result.sumOfSquares = total(sums.squares);
  countExponents(places, written, count, result);
  result.zero = result.exponents[0];
  if (result.smallest < smallestNormalBits) {
    result.zero = 0;
    for (size_t j = 0; j < count; ++j)
      result.zero += (values[j] & 0x7fff) == 0;
  }
  result.subnormal = result.exponents[0] - result.zero;
}

// ---- Errors -------------------------------------------------------------------------------------

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

void subtract(const float *now, const float *then, size_t count, float *differences) {
  for (size_t i = 0; i < count; ++i)
    differences[i] = now[i] - then[i];
}

uint32_t countLost(const float *values, const float *before, size_t count) {
  uint32_t lost = 0;
  for (size_t i = 0; i < count; ++i)
    lost += magnitudeOf(values[i]) == 0 && magnitudeOf(before[i]) != 0;
  return lost;
}

} // namespace

extern const StatisticsKernels MPC_CONCAT(statisticsKernelsV, MPC_ISA_LEVEL);
constexpr StatisticsKernels MPC_CONCAT(statisticsKernelsV, MPC_ISA_LEVEL) = {
    countWide, countBFloat16, compare, subtract, countLost};

#if MPC_ISA_LEVEL == 2
extern const StatisticsKernels statisticsKernelsV3, statisticsKernelsV4;

const StatisticsKernels &statisticsKernels(int isa) noexcept {
  return isa == 2 ? statisticsKernelsV4 : isa == 1 ? statisticsKernelsV3 : statisticsKernelsV2;
}
#endif

} // namespace mpc::rt
