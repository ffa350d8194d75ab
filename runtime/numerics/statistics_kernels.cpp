// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// This file is compiled once per ISA level: all of it is static.
#include "runtime/numerics/statistics_kernels.h"

#include <immintrin.h>

#define MPC_CONCAT_2(a, b) a##b
#define MPC_CONCAT(a, b) MPC_CONCAT_2(a, b)

namespace mpc::rt {
namespace {

constexpr uint32_t magnitudeBits = 0x7fffffffu, infinityBits = 0x7f800000u,
                   smallestNormalBits = 0x00800000u;
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

// Where all elements are finite: their sums, and between which magnitudes those lie that are not 0.
struct Sums {
  Ints largest = {};
  Counts below = ~Counts{}; // the smallest magnitude without 1: 0 becomes the largest of all
  Doubles sum = {}, squares = {};

  // Returns the magnitudes. The square of a float32 is exact, so that levels with a fused addition
  // round alike.
  Ints add(Floats x) {
#pragma clang fp contract(fast)
    const Ints m = reinterpret_cast<Ints>(x) & INT32_MAX;
    largest = m > largest ? m : largest;
    const Counts key = reinterpret_cast<Counts>(m) - 1;
    below = key < below ? key : below;
    const Doubles wide = __builtin_convertvector(x, Doubles);
    sum += wide;
    squares += wide * wide;
    return m;
  }
  void add(const Sums &other) {
    largest = other.largest > largest ? other.largest : largest;
    below = other.below < below ? other.below : below;
    sum += other.sum;
    squares += other.squares;
  }
};

constexpr size_t group = 4 * lanes; // elements of which the exponents fill a vector with bytes

// Each of two sums waits for its own additions only. Which byte has which exponent does not matter.
inline void addGroup(const float *values, Sums (&sums)[2], uint8_t *places) {
  Ints packed = {};
  for (int j = 0; j < 4; ++j) {
    const Ints m = sums[j % 2].add(load(values + static_cast<size_t>(j) * lanes, lanes));
    const Ints exponents = m & static_cast<int32_t>(infinityBits);
    packed |= j < 3 ? exponents >> (23 - 8 * j) : exponents << 1;
  }
  __builtin_memcpy(places, &packed, sizeof packed);
}

// A byte of `places` has the exponent's bits of an element; those of whole groups are written.
void addUp(const float *values, size_t count, uint8_t *places, BlockStatistics &result) {
  Sums sums[2];
  size_t i = 0;
  for (; i + group <= count; i += group)
    addGroup(values + i, sums, places + i);
  if (i < count) {
    float rest[group] = {};
    __builtin_memcpy(rest, values + i, (count - i) * sizeof(float));
    addGroup(rest, sums, places + i);
  }
  sums[0].add(sums[1]);
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
  addUp(finite, count, places, result);
  result.infinite = infinite;
  result.nan = nan;
}

#if MPC_ISA_LEVEL >= 4
constexpr size_t bytesOfVector = 64;
#elif MPC_ISA_LEVEL == 3
constexpr size_t bytesOfVector = 32;
#else
constexpr size_t bytesOfVector = 16;
#endif
typedef uint8_t Bytes __attribute__((vector_size(bytesOfVector)));
static_assert(statisticsBlock / bytesOfVector <= UINT8_MAX, "a count fits a lane");

// The byte of `table`, which repeats after 16, for the low bits of each index below 128; else 0.
inline Bytes lookUp(Bytes table, Bytes index) {
#if MPC_ISA_LEVEL >= 4
  return reinterpret_cast<Bytes>(
      _mm512_shuffle_epi8(reinterpret_cast<__m512i>(table), reinterpret_cast<__m512i>(index)));
#elif MPC_ISA_LEVEL == 3
  return reinterpret_cast<Bytes>(
      _mm256_shuffle_epi8(reinterpret_cast<__m256i>(table), reinterpret_cast<__m256i>(index)));
#else
  return reinterpret_cast<Bytes>(
      _mm_shuffle_epi8(reinterpret_cast<__m128i>(table), reinterpret_cast<__m128i>(index)));
#endif
}

inline uint32_t totalOf(Bytes counts) {
  typedef uint64_t Totals __attribute__((vector_size(bytesOfVector)));
#if MPC_ISA_LEVEL >= 4
  const auto totals = reinterpret_cast<Totals>(
      _mm512_sad_epu8(reinterpret_cast<__m512i>(counts), _mm512_setzero_si512()));
#elif MPC_ISA_LEVEL == 3
  const auto totals = reinterpret_cast<Totals>(
      _mm256_sad_epu8(reinterpret_cast<__m256i>(counts), _mm256_setzero_si256()));
#else
  const auto totals = reinterpret_cast<Totals>(
      _mm_sad_epu8(reinterpret_cast<__m128i>(counts), _mm_setzero_si128()));
#endif
  uint64_t sum = 0;
  for (size_t i = 0; i < sizeof totals / sizeof(uint64_t); ++i)
    sum += totals[i];
  return static_cast<uint32_t>(sum);
}

// Exponents are counted in pairs: an element adds 1 to a half of a byte, which holds so many.
constexpr uint32_t fewTogether = 8, mostTogether = MPC_ISA_LEVEL >= 4 ? 16 : 8;
constexpr size_t mostOfHalf = 15;

// An element with each of 16 exponents adds this to the pairs.
struct PairTables {
  alignas(bytesOfVector) uint8_t bytes[mostTogether / 2][bytesOfVector] = {};
  constexpr PairTables() {
    for (size_t pair = 0; pair < mostTogether / 2; ++pair)
      for (size_t i = 0; i < bytesOfVector; i += 16) {
        bytes[pair][i + 2 * pair] = 1;
        bytes[pair][i + 2 * pair + 1] = 1 << 4;
      }
  }
};
constexpr PairTables pairTables;

// The number of elements with each exponent from `first` on. Places below `first` are taken for
// larger ones than any element's. Returns how many exponents that are.
template <uint32_t together>
uint32_t countTogether(const uint8_t *places, size_t vectors, uint32_t first, uint32_t *counts) {
  constexpr size_t pairsTogether = together / 2;
  const Bytes base = Bytes{} + static_cast<uint8_t>(first);
  const Bytes toHighBit = Bytes{} + uint8_t{128 - 16}; // of 16 and more, that are no indices
  Bytes tables[pairsTogether], totals[together] = {};
  for (size_t pair = 0; pair < pairsTogether; ++pair)
    __builtin_memcpy(&tables[pair], pairTables.bytes[pair], sizeof(Bytes));
  for (size_t i = 0; i < vectors;) {
    Bytes pairs[pairsTogether] = {};
    for (const size_t end = i + mostOfHalf < vectors ? i + mostOfHalf : vectors; i < end; ++i) {
      Bytes exponents;
      __builtin_memcpy(&exponents, places + i * sizeof(Bytes), sizeof(Bytes));
      const Bytes index = __builtin_elementwise_add_sat(exponents - base, toHighBit);
      for (size_t pair = 0; pair < pairsTogether; ++pair)
        pairs[pair] += lookUp(tables[pair], index);
    }
    for (size_t pair = 0; pair < pairsTogether; ++pair) {
      totals[2 * pair] += pairs[pair] & uint8_t{mostOfHalf};
      totals[2 * pair + 1] += pairs[pair] >> 4;
    }
  }
  for (size_t i = 0; i < together; ++i)
    counts[i] = totalOf(totals[i]);
  return together;
}

// Counts between the bounds that are known; the first `written` places are there. What is left
// has none of float32's exponents.
void countExponents(uint8_t *places, size_t written, size_t count, BlockStatistics &result) {
  for (; written % sizeof(Bytes) != 0; ++written)
    places[written] = 0;
  const size_t vectors = written / sizeof(Bytes);
  for (uint32_t &exponent : result.exponents)
    exponent = 0;
  auto left = static_cast<uint32_t>(count) - result.infinite - result.nan;
  const uint32_t last = result.largest >> 23, least = result.smallest >> 23;
  for (uint32_t first = least ? least : 1; first <= last;) {
    uint32_t counts[mostTogether];
    const uint32_t together = last - first < fewTogether
                                  ? countTogether<fewTogether>(places, vectors, first, counts)
                                  : countTogether<mostTogether>(places, vectors, first, counts);
    for (uint32_t i = 0; i < together && first + i <= last; ++i) {
      result.exponents[first + i] = counts[i];
      left -= counts[i];
    }
    first += together;
  }
  result.exponents[0] = left;
}

void countWide(const float *values, size_t count, const FormatBounds &format,
               BlockStatistics &result) {
  alignas(bytesOfVector) uint8_t places[statisticsBlock];
  result.infinite = result.nan = result.saturated = 0;
  addUp(values, count, places, result);
  if (result.largest >= infinityBits)
    addUpFinite(values, count, places, result);
  countExponents(places, (count + group - 1) / group * group, count, result);
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
constexpr size_t wideLanes = 16, halfLanes = 2 * wideLanes;
typedef uint16_t Halves __attribute__((vector_size(2 * halfLanes)));
typedef uint32_t WideBits __attribute__((vector_size(4 * wideLanes)));
typedef float WideFloats __attribute__((vector_size(4 * wideLanes)));
typedef double WideDoubles __attribute__((vector_size(8 * wideLanes)));

// Magnitudes between which the sum of a few squares is a normal float32; smaller ones beside
// them do not count.
constexpr uint16_t leastSquared = 0x2b80, mostSquared = 0x5d80; // 2^-40, 2^60

inline double total(WideDoubles values) {
  Doubles halves[2];
  __builtin_memcpy(halves, &values, sizeof values);
  return total(halves[0] + halves[1]);
}

inline Halves loadHalves(const uint16_t *values) {
  Halves result;
  __builtin_memcpy(&result, values, sizeof result);
  return result;
}

// Squares of 8 bits are exact in float32. Eight are added there, all others in float64.
struct HalfSums {
  Halves largest = {}, below = ~Halves{}; // as in Sums
  WideDoubles sum = {}, squares = {};

  void add(const uint16_t *group, uint8_t *places) {
    WideFloats sums[2], squaresOf[2];
    for (size_t i = 0; i < 2; ++i)
      look(loadHalves(group + 2 * i * halfLanes), loadHalves(group + (2 * i + 1) * halfLanes),
           places + 2 * i * halfLanes, sums[i], squaresOf[i]);
    sum += __builtin_convertvector(sums[0] + sums[1], WideDoubles);
    squares += __builtin_convertvector(squaresOf[0] + squaresOf[1], WideDoubles);
  }

private:
  void look(Halves a, Halves b, uint8_t *places, WideFloats &four, WideFloats &fourSquares) {
#pragma clang fp contract(fast)
    const Halves ma = a & uint16_t{0x7fff}, mb = b & uint16_t{0x7fff};
    const Halves most = ma > mb ? ma : mb, ka = ma - uint16_t{1}, kb = mb - uint16_t{1};
    const Halves least = ka < kb ? ka : kb;
    largest = most > largest ? most : largest;
    below = least < below ? least : below;
    const Halves exponents = ma >> 7 | (mb << 1 & uint16_t{0xff00});
    __builtin_memcpy(places, &exponents, sizeof exponents);
    const auto wa = reinterpret_cast<WideBits>(a), wb = reinterpret_cast<WideBits>(b);
    const auto a0 = reinterpret_cast<WideFloats>(wa << 16),
               a1 = reinterpret_cast<WideFloats>(wa & 0xffff0000u),
               b0 = reinterpret_cast<WideFloats>(wb << 16),
               b1 = reinterpret_cast<WideFloats>(wb & 0xffff0000u);
    four = (a0 + a1) + (b0 + b1);
    fourSquares = a0 * a0 + a1 * a1 + b0 * b0 + b1 * b1;
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
  constexpr size_t halfGroup = 4 * halfLanes;
  alignas(bytesOfVector) uint8_t places[statisticsBlock];
  HalfSums sums;
  size_t i = 0;
  for (; i + halfGroup <= count; i += halfGroup)
    sums.add(values + i, places + i);
  if (i < count) {
    uint16_t rest[halfGroup] = {};
    __builtin_memcpy(rest, values + i, (count - i) * sizeof(uint16_t));
    sums.add(rest, places + i);
    i += halfGroup;
  }
  const uint32_t largest = __builtin_reduce_max(sums.largest),
                 smallest = uint32_t{__builtin_reduce_min(sums.below)} + 1;
  if (largest && (largest < leastSquared || largest > mostSquared))
    return countWidened(values, count, result);
  result.infinite = result.nan = result.saturated = 0;
  result.largest = largest << 16;
  result.smallest = largest ? smallest << 16 : ~0u;
  result.sum = total(sums.sum);
  result.sumOfSquares = total(sums.squares);
  countExponents(places, i, count, result);
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

} // namespace

extern const StatisticsKernels MPC_CONCAT(statisticsKernelsV, MPC_ISA_LEVEL);
constexpr StatisticsKernels MPC_CONCAT(statisticsKernelsV,
                                       MPC_ISA_LEVEL) = {countWide, countBFloat16, compare};

#if MPC_ISA_LEVEL == 2
extern const StatisticsKernels statisticsKernelsV3, statisticsKernelsV4;

const StatisticsKernels &statisticsKernels(int isa) noexcept {
  return isa == 2 ? statisticsKernelsV4 : isa == 1 ? statisticsKernelsV3 : statisticsKernelsV2;
}
#endif

} // namespace mpc::rt
