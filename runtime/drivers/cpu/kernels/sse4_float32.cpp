// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// float32 on SSE 4.1, for CPUs without AVX2: 4 rows by two vectors of columns. Their 8 sums are
// enough for an addition's latency. A step is one k. 16-bit operands are widened while they are
// packed.
//
// No instruction of this level repeats one float32 of memory in all lanes, and a shuffle takes the
// place of an addition or multiplication. MOVDDUP repeats 64 bits as it loads them: in panels of
// lhs each number stands twice (docs/decisions/0159).
#include "mpc-rt/dtype.h"
#include "runtime/drivers/cpu/kernels/widened_panels.h"

namespace mpc::rt {
namespace {

// Implements what vector_panels.h asks of a vector.
struct Vectors128 {
  using Sums = __m128;
  using Words = __m128i;
  // A step is so short that lines of several are spread over the groups of rows that read them, and
  // a tile's loop has instructions to spare for its own in one of eight.
  static constexpr int64_t lanes = 4, panelRows = 4, panelColumns = 8, fetchingSteps = 4,
                           lhsStepsAhead = 0, tileFetchingSteps = 8, stepsSideBySide = 2;
  static constexpr int finishedDtype = -1;
  static constexpr bool masksLoads = false;
  static constexpr int64_t parts = 1;
  static constexpr int64_t copies = 1, lhsCopies = 2;
  template <int64_t k> static Words part(Words words) { return words; }
  static Sums zero() { return _mm_setzero_ps(); }
  static Sums load(const float *from) { return _mm_load_ps(from); }
  static void store(float *to, Sums sums) { _mm_store_ps(to, sums); }
  static Words loadWords(const void *from) {
    return _mm_load_si128(static_cast<const __m128i *>(from));
  }
  static Words noWords() { return _mm_setzero_si128(); }
  static Words broadcast(int32_t word) { return _mm_set1_epi32(word); }
  static Words loadCopies(const void *at) {
    return _mm_castpd_si128(_mm_loaddup_pd(static_cast<const double *>(at)));
  }
  static void transpose(Words (&lines)[lanes]) {
    const Words low01 = _mm_unpacklo_epi32(lines[0], lines[1]),
                high01 = _mm_unpackhi_epi32(lines[0], lines[1]),
                low23 = _mm_unpacklo_epi32(lines[2], lines[3]),
                high23 = _mm_unpackhi_epi32(lines[2], lines[3]);
    lines[0] = _mm_unpacklo_epi64(low01, low23);
    lines[1] = _mm_unpackhi_epi64(low01, low23);
    lines[2] = _mm_unpacklo_epi64(high01, high23);
    lines[3] = _mm_unpackhi_epi64(high01, high23);
  }
  // Stores the first `count` lanes, or all where more steps follow, which overwrite what is too
  // much.
  template <int64_t count> static void storeLanes(int32_t *to, Words values, bool moreFollow) {
    if (count >= lanes || moreFollow)
      _mm_storeu_si128(reinterpret_cast<__m128i *>(to), values);
    else
      __builtin_memcpy(to, &values, static_cast<size_t>(count) * sizeof(int32_t));
  }
};

// Writes each lane twice.
inline void storeCopies(int32_t *to, __m128i values) {
  _mm_storeu_si128(reinterpret_cast<__m128i *>(to), _mm_unpacklo_epi32(values, values));
  _mm_storeu_si128(reinterpret_cast<__m128i *>(to + Vectors128::lanes),
                   _mm_unpackhi_epi32(values, values));
}

// An operand whose panels hold each lane twice.
template <typename Operand> struct Copied : Operand {
  static constexpr int64_t copies = Vectors128::lhsCopies;
  template <int64_t count> static void storeLanes(int32_t *to, __m128i values, bool) {
    static_assert(count == Vectors128::lanes);
    storeCopies(to, values);
  }
};

// Both read no more than the first `count` of four elements; the others are zeros.
inline __m128i loadWords(const float *from, int64_t count) {
  if (count >= Vectors128::lanes)
    return _mm_loadu_si128(reinterpret_cast<const __m128i *>(from));
  __m128i words = _mm_setzero_si128();
  if (count > 0)
    __builtin_memcpy(&words, from, static_cast<size_t>(count) * sizeof *from);
  return words;
}
// Each half is the low part of a word.
inline __m128i loadHalves(const uint16_t *from, int64_t count) {
  __m128i halves = _mm_setzero_si128();
  if (count >= Vectors128::lanes)
    halves = _mm_loadl_epi64(reinterpret_cast<const __m128i *>(from));
  else if (count > 0)
    __builtin_memcpy(&halves, from, static_cast<size_t>(count) * sizeof *from);
  return _mm_cvtepu16_epi32(halves);
}

struct Float32 {
  using Storage = float;
  static __m128i load(const float *from, int64_t count) { return loadWords(from, count); }
};

struct BFloat16 {
  using Storage = uint16_t;
  static __m128i load(const uint16_t *from, int64_t count) {
    return _mm_slli_epi32(loadHalves(from, count), 16);
  }
};

// No instruction of this level widens float16. The exponent moves from a bias of 15 to one of 127;
// numbers without one are integers times 2^-24, and the largest one is that of infinity and NaN.
struct Float16 {
  using Storage = uint16_t;
  static __m128i load(const uint16_t *from, int64_t count) {
    const __m128i halves = loadHalves(from, count);
    const __m128i sign = _mm_slli_epi32(_mm_and_si128(halves, _mm_set1_epi32(0x8000)), 16),
                  magnitude = _mm_and_si128(halves, _mm_set1_epi32(0x7fff));
    const __m128i isTiny = _mm_cmplt_epi32(magnitude, _mm_set1_epi32(0x0400)),
                  isEndless = _mm_cmpgt_epi32(magnitude, _mm_set1_epi32(0x7bff));
    const __m128i moved = _mm_add_epi32(_mm_slli_epi32(magnitude, 13),
                                        _mm_set1_epi32((127 - 15) << 23)),
                  endless = _mm_add_epi32(moved, _mm_set1_epi32((255 - 143) << 23));
    const __m128 tiny = _mm_mul_ps(_mm_cvtepi32_ps(magnitude), _mm_set1_ps(0x1p-24f));
    const __m128i number =
        _mm_blendv_epi8(_mm_blendv_epi8(moved, endless, isEndless), _mm_castps_si128(tiny), isTiny);
    return _mm_or_si128(number, sign);
  }
};

struct Step : Vectors128 {
  static constexpr int64_t depth = 1;
  static Sums add(Sums sums, Words factors, Words row) {
    return _mm_add_ps(sums, _mm_mul_ps(_mm_castsi128_ps(factors), _mm_castsi128_ps(row)));
  }
};

using OfElements = WidenedPacks<Vectors128, Float32, BFloat16, Float16>;

template <typename... Elements> struct CopiedPacks {
  static constexpr int64_t rows = Vectors128::panelRows;
  static constexpr PackPanels of[sizeof...(Elements)][2] = {
      {packAcrossDepth<Copied<Widened<Vectors128, Elements>>, rows>,
       packAlongDepth<Copied<Widened<Vectors128, Elements>>, rows>}...};
};

template <typename Element> void copyLanes(const void *from, int64_t count, float *to) {
  constexpr int64_t lanes = Vectors128::lanes, copies = Vectors128::lhsCopies;
  const auto *numbers = static_cast<const typename Element::Storage *>(from);
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes)
    storeCopies(reinterpret_cast<int32_t *>(to + copies * i), Element::load(numbers + i, lanes));
  if (i == count)
    return;
  int32_t last[copies * lanes];
  storeCopies(last, Element::load(numbers + i, count - i));
  __builtin_memcpy(to + copies * i, last,
                   static_cast<size_t>(copies * (count - i)) * sizeof(float));
}

// A group has as many bytes of each row of rhs as AVX2's, and a block of lhs as many bytes.
constexpr MicroKernel withCopies() {
  MicroKernel kernel = widenedKernel<Step, OfElements::Packs>("sse4_float32", /*groupPanels=*/8);
  kernel.lhsCopies = Step::lhsCopies;
  kernel.lhsStepBytes *= Step::lhsCopies;
  kernel.blockRows /= Step::lhsCopies;
  kernel.packLhs = CopiedPacks<Float32, BFloat16, Float16>::of;
  kernel.prepareLanes[MPC_RT_FLOAT32] = copyLanes<Float32>;
  kernel.prepareLanes[MPC_RT_BFLOAT16] = copyLanes<BFloat16>;
  kernel.prepareLanes[MPC_RT_FLOAT16] = copyLanes<Float16>;
  return kernel;
}

} // namespace

const MicroKernel sse4Float32 = withCopies();

} // namespace mpc::rt
