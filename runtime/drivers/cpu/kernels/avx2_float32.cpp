// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// float32 on AVX2 and FMA: 6 rows by two vectors of columns, whose 12 sums leave room for a row of
// columns and a factor in the 16 registers. A step is one k. 16-bit operands are widened while they
// are packed.
#include "mpc-rt/dtype.h"
#include "runtime/drivers/cpu/kernels/finished_panel.h"
#include "runtime/drivers/cpu/kernels/widened_panels.h"

namespace mpc::rt {
namespace {

// Implements what vector_panels.h asks of a vector.
struct Vectors256 {
  using Sums = __m256;
  using Words = __m256i;
  // A step is so short that lines of several are spread over the groups of rows that read them.
  static constexpr int64_t lanes = 8, panelRows = 6, panelColumns = 16, fetchingSteps = 4,
                           lhsStepsAhead = 0, tileFetchingSteps = 4, stepsSideBySide = 1;
  static constexpr bool masksLoads = false;
  static constexpr int64_t parts = 1;
  static constexpr int64_t copies = 1, lhsCopies = 1;
  template <int64_t k> static Words part(Words words) { return words; }
  static Sums zero() { return _mm256_setzero_ps(); }
  static Sums load(const float *from) { return _mm256_load_ps(from); }
  static void store(float *to, Sums sums) { _mm256_store_ps(to, sums); }
  static Sums repeat(float number) { return _mm256_set1_ps(number); }
  static Sums plus(Sums a, Sums b) { return _mm256_add_ps(a, b); }
  static Sums larger(Sums a, Sums b) { return _mm256_max_ps(a, b); }
  static Sums loadFirst(const float *from, int64_t count, Sums others) {
    if (count >= lanes)
      return _mm256_loadu_ps(from);
    const Words mask = firstOf(count);
    return _mm256_blendv_ps(others, _mm256_maskload_ps(from, mask), _mm256_castsi256_ps(mask));
  }
  // All bits of the first `count` lanes.
  static Words firstOf(int64_t count) {
    const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(count)), lane);
  }
  static Words loadWords(const void *from) {
    return _mm256_load_si256(static_cast<const __m256i *>(from));
  }
  static Words noWords() { return _mm256_setzero_si256(); }
  static Words broadcast(int32_t word) { return _mm256_set1_epi32(word); }
  static void transpose(Words (&lines)[lanes]) {
    Words pairs[lanes], quads[lanes];
    for (int i = 0; i < lanes; i += 2) {
      pairs[i] = _mm256_unpacklo_epi32(lines[i], lines[i + 1]);
      pairs[i + 1] = _mm256_unpackhi_epi32(lines[i], lines[i + 1]);
    }
    for (int i = 0; i < lanes; i += 4)
      for (int half = 0; half < 2; ++half) {
        quads[i + 2 * half] = _mm256_unpacklo_epi64(pairs[i + half], pairs[i + 2 + half]);
        quads[i + 2 * half + 1] = _mm256_unpackhi_epi64(pairs[i + half], pairs[i + 2 + half]);
      }
    // quads[4 * g + c] holds, in its half h, column 4 * h + c of the rows 4 * g to 4 * g + 3.
    for (int c = 0; c < 4; ++c) {
      lines[c] = _mm256_permute2x128_si256(quads[c], quads[4 + c], 0x20);
      lines[4 + c] = _mm256_permute2x128_si256(quads[c], quads[4 + c], 0x31);
    }
  }
  // Stores the first `count` lanes, or all where more steps follow, which overwrite what is too
  // much.
  template <int64_t count> static void storeLanes(int32_t *to, Words values, bool moreFollow) {
    if (count >= lanes || moreFollow)
      _mm256_storeu_si256(reinterpret_cast<__m256i *>(to), values);
    else
      __builtin_memcpy(to, &values, static_cast<size_t>(count) * sizeof(int32_t));
  }
};

// Reads no more than the first `count` of eight elements; the others are zeros.
struct Float32 {
  using Storage = float;
  static __m256i load(const float *from, int64_t count) {
    if (count >= Vectors256::lanes)
      return _mm256_loadu_si256(reinterpret_cast<const __m256i *>(from));
    return _mm256_maskload_epi32(reinterpret_cast<const int *>(from), Vectors256::firstOf(count));
  }
};

inline __m128i loadHalves(const uint16_t *from, int64_t count) {
  if (count >= Vectors256::lanes)
    return _mm_loadu_si128(reinterpret_cast<const __m128i *>(from));
  __m128i halves = _mm_setzero_si128();
  if (count > 0)
    __builtin_memcpy(&halves, from, static_cast<size_t>(count) * sizeof *from);
  return halves;
}

struct BFloat16 {
  using Storage = uint16_t;
  static __m256i load(const uint16_t *from, int64_t count) {
    return _mm256_slli_epi32(_mm256_cvtepu16_epi32(loadHalves(from, count)), 16);
  }
};

struct Float16 {
  using Storage = uint16_t;
  static __m256i load(const uint16_t *from, int64_t count) {
    return _mm256_castps_si256(_mm256_cvtph_ps(loadHalves(from, count)));
  }
};

struct Float32Row : Vectors256 {
  static constexpr int64_t bytes = 4;
  static __m256 round(__m256 x) { return x; }
  static void storeRow(void *to, __m256 values) {
    _mm256_storeu_ps(static_cast<float *>(to), values);
  }
  // Masked stores take many cycles on AMD's CPUs.
  static void storeFirst(void *to, __m256 values, int64_t count) {
    alignas(32) float all[lanes];
    store(all, values);
    for (int64_t i = 0; i < count; ++i)
      static_cast<float *>(to)[i] = all[i];
  }
};

struct Step : Vectors256 {
  static constexpr int64_t depth = 1;
  static constexpr int finishedDtype = MPC_RT_FLOAT32;
  using Finish = FinishedPanel<Float32Row>;
  static Sums add(Sums sums, Words factors, Words row) {
    return _mm256_fmadd_ps(_mm256_castsi256_ps(factors), _mm256_castsi256_ps(row), sums);
  }
};

using OfElements = WidenedPacks<Vectors256, Float32, BFloat16, Float16>;

template <typename Element> void widenLanes(const void *from, int64_t count, float *to) {
  constexpr int64_t lanes = Vectors256::lanes;
  const auto *numbers = static_cast<const typename Element::Storage *>(from);
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes)
    Vectors256::storeLanes<lanes>(reinterpret_cast<int32_t *>(to + i),
                                  Element::load(numbers + i, lanes), true);
  if (i == count)
    return;
  const __m256i last = Element::load(numbers + i, count - i);
  __builtin_memcpy(to + i, &last, static_cast<size_t>(count - i) * sizeof(float));
}

// A unit is a line of eight lanes whose k is contiguous, which is read at once: lanes are often
// some power of two apart, so that more of them would displace each other in the first-level cache.
class LinesAlong {
public:
  explicit LinesAlong(const PackedSteps &packed)
      : from(static_cast<const float *>(packed.from)), stride(packed.stride), left(packed.steps),
        to(static_cast<float *>(packed.to)) {}
  static int64_t countOf(const PackedSteps &packed) {
    return (packed.steps + wordsOfLine - 1) / wordsOfLine * groups;
  }
  void pack() {
    const int64_t steps = left < wordsOfLine ? left : wordsOfLine;
    packLines(from, stride, steps, to);
    from += Vectors256::lanes * stride;
    to += Vectors256::lanes;
    if (++group < groups)
      return;
    group = 0;
    left -= steps;
    from += steps - width * stride;
    to += (steps - 1) * width;
  }

private:
  static constexpr int64_t stepsOfPiece = 4, width = Vectors256::panelColumns,
                           groups = width / Vectors256::lanes;
  static_assert(PackedSteps::stepsAtOnce % stepsOfPiece == 0 && PackedSteps::vectorLanes == width);

  // Halves of a vector come from memory in place, which leaves the permutations within them.
  __attribute__((noinline)) static void packLines(const float *first, int64_t stride, int64_t steps,
                                                  float *target) {
    for (int64_t step = 0; step < steps; step += stepsOfPiece) {
      const __m256 a = halves(first, stride), b = halves(first + stride, stride),
                   c = halves(first + 2 * stride, stride), d = halves(first + 3 * stride, stride);
      const __m256d ab = pairs(_mm256_unpacklo_ps(a, b)), cd = pairs(_mm256_unpacklo_ps(c, d));
      store(target, _mm256_unpacklo_pd(ab, cd));
      store(target + width, _mm256_unpackhi_pd(ab, cd));
      const __m256d abEnd = pairs(_mm256_unpackhi_ps(a, b)),
                    cdEnd = pairs(_mm256_unpackhi_ps(c, d));
      store(target + 2 * width, _mm256_unpacklo_pd(abEnd, cdEnd));
      store(target + 3 * width, _mm256_unpackhi_pd(abEnd, cdEnd));
      first += stepsOfPiece;
      target += stepsOfPiece * width;
    }
  }
  static __m256d pairs(__m256 numbers) { return _mm256_castps_pd(numbers); }
  static void store(float *to, __m256d lanes) { _mm256_store_ps(to, _mm256_castpd_ps(lanes)); }
  // 16 bytes of a lane and of the fourth one behind it.
  static __m256 halves(const float *first, int64_t stride) {
    return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(first)),
                                _mm_loadu_ps(first + 4 * stride), 1);
  }
  const float *from;
  int64_t stride, left, group = 0;
  float *to;
};

template <typename Units> void multiplyAndPack(const MicroTile &tile) {
  multiplyPanels<Step, Step::panelRows, PackingBetween<Units>>(tile);
}
template <typename Element>
using Across = StepsOfPanels<Widened<Vectors256, Element>, Vectors256::panelColumns>;

constexpr MultiplyTiles packsMeanwhile[3][2] = {
    {multiplyAndPack<Across<Float32>>, multiplyAndPack<LinesAlong>},
    {multiplyAndPack<Across<BFloat16>>, nullptr},
    {multiplyAndPack<Across<Float16>>, nullptr}};

// A group of four panels is four lines of each row of rhs.
constexpr MicroKernel withWidening() {
  MicroKernel kernel = widenedKernel<Step, OfElements::Packs>("avx2_float32", /*groupPanels=*/4);
  // A sum waits four cycles for the product before, in which eight others begin: fewer rows than
  // four take no less time.
  kernel.multiply = multiplyExistingRows<Step, 0, 0, 2, 2, 2, 2>;
  // Sums and lhs of a block fit the second-level cache together.
  kernel.blockRows = 192;
  kernel.multiplyAndPack = packsMeanwhile;
  kernel.prepareLanes[MPC_RT_BFLOAT16] = widenLanes<BFloat16>;
  kernel.prepareLanes[MPC_RT_FLOAT16] = widenLanes<Float16>;
  return kernel;
}

} // namespace

const MicroKernel avx2Float32 = withWidening();

} // namespace mpc::rt
