// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// bfloat16 on AVX-512: a step is two k, whose products VDPBF16PS adds to a sum in float32. It
// rounds to nearest even and takes subnormal numbers for zero (Intel's Architecture Instruction Set
// Extensions Programming Reference, chapter 2), as TDPBF16PS of AMX does.
#include "runtime/drivers/cpu/kernels/avx512_bfloat16_lanes.h"
#include "runtime/drivers/cpu/kernels/avx512_columns.h"
#include "runtime/drivers/cpu/kernels/avx512_pairs.h"
#include "runtime/drivers/cpu/kernels/avx512_weights.h"

namespace mpc::rt {
namespace {

// VDPBF16PS leaves no subnormal sums, nor does an addition while a context computes
// (docs/decisions/0150): what VCVTNEPS2BF16 takes for zero does not come here.
struct BFloat16Row : Vectors512 {
  static constexpr int64_t bytes = 2;
  static __m256i narrow(__m512 x) {
    const __m256bh narrow = _mm512_cvtneps_pbh(x);
    return reinterpret_cast<const __m256i &>(narrow);
  }
  static __m512 round(__m512 x) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(narrow(x)), 16));
  }
  static void storeRow(void *to, __m512 values) {
    _mm256_storeu_si256(static_cast<__m256i *>(to), narrow(values));
  }
  static void storeFirst(void *to, __m512 values, int64_t count) {
    if (count == 8)
      _mm_storeu_si128(static_cast<__m128i *>(to), _mm256_castsi256_si128(narrow(values)));
    else
      _mm256_mask_storeu_epi16(to, firstOf(count), narrow(values));
  }
};

struct Step : Vectors512 {
  static constexpr int64_t depth = 2;
  static constexpr int finishedDtype = MPC_RT_BFLOAT16;
  using Finish = FinishedPanel<BFloat16Row>;
  static __m512 add(__m512 sums, __m512i factors, __m512i row) {
    return _mm512_dpbf16_ps(sums, reinterpret_cast<__m512bh>(factors),
                            reinterpret_cast<__m512bh>(row));
  }
};

void finishPixels(const float *sums, int64_t stride, int64_t pixels, int64_t channels,
                  const float *bias, bool relu, void *out, int64_t outStride) {
  auto *row = static_cast<uint8_t *>(out);
  for (int64_t pixel = 0; pixel < pixels; ++pixel, row += outStride * BFloat16Row::bytes)
    Step::Finish::storeRows(sums + pixel * stride, stride, 1, {&row, channels, bias, relu});
}

constexpr PieceKernel manyColumns = pieceKernel<Step, Packs, panelColumns>(UpTo6{});
constexpr PieceKernel aFewColumns = pieceKernel<Step, Packs, fewColumns>(UpTo12{});
constexpr PieceKernel between = pieceKernel<Step, Packs, columnsBetween>(UpTo8{});
constexpr PieceKernel ofVector = pieceKernel<Step, Packs, Vectors512::lanes>(UpTo12{});

// Two rows of weights as one step. Numbers are exact: what bfloat16 holds is the upper half of its
// float32.
template <bool isRounded> __m512i join(__m512 even, __m512 odd) {
  if (!isRounded)
    return _mm512_mask_blend_epi16(0xAAAAAAAA, _mm512_srli_epi32(_mm512_castps_si512(even), 16),
                                   _mm512_castps_si512(odd));
  const __m512i indices =
      _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6,
                       21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
  const __m512bh rounded = _mm512_cvtne2ps_pbh(odd, even);
  return _mm512_permutexvar_epi16(indices, reinterpret_cast<const __m512i &>(rounded));
}

struct ToBFloat16 {
  static __m512 round(__m512 x) {
    const __m256bh rounded = _mm512_cvtneps_pbh(x);
    return _mm512_castsi512_ps(
        _mm512_slli_epi32(_mm512_cvtepu16_epi32(reinterpret_cast<const __m256i &>(rounded)), 16));
  }
};

template <bool isInt4, Adjust adjust>
void widen(const WeightRows &from, int64_t steps, void *panel) {
  constexpr bool isRounded = adjust != Adjust::none;
  auto *to = static_cast<uint16_t *>(panel);
  Adjusted<isInt4, adjust, ToBFloat16> adjusted(from);
  // One row of a step whose other row is of another block, or is not there.
  auto storeHalf = [&](int64_t row) {
    for (int64_t v = 0; v < panelVectors; ++v) {
      uint16_t *target = to + row / 2 * 2 * panelColumns + 32 * v;
      const __m512 weights = adjusted.weights(row, v), none = _mm512_setzero_ps();
      const __m512i half =
          row % 2 ? join<isRounded>(none, weights) : join<isRounded>(weights, none);
      _mm512_store_si512(target, row % 2 ? _mm512_or_si512(half, _mm512_load_si512(target)) : half);
    }
  };
  forRuns(from, adjusted, [&](int64_t first, int64_t last) {
    int64_t row = first;
    if (row % 2)
      storeHalf(row++);
    for (; row + 2 <= last; row += 2)
      for (int64_t v = 0; v < panelVectors; ++v)
        _mm512_store_si512(to + row * panelColumns + 32 * v,
                           join<isRounded>(adjusted.weights(row, v), adjusted.weights(row + 1, v)));
    if (row < last)
      storeHalf(row);
  });
  for (int64_t step = (from.rows + 1) / 2; step < steps; ++step)
    for (int64_t v = 0; v < panelVectors; ++v)
      _mm512_store_si512(to + step * 2 * panelColumns + 32 * v, _mm512_setzero_si512());
}

struct Nothing {};

// All weights of a block are there in bfloat16, twice: what looks one up shows five bits, of which
// the highest is the next number's.
struct LookUp {
  using Element = uint16_t;
  using Table = __m512i;
  using Lhs = __m512bh;
  using Common = Nothing;
  static constexpr bool evenFirst = false;
  static Table makeTable(const float *adjustments) {
    const __m512 weights = scaleNumbers(adjustments);
    const __m512bh twice = _mm512_cvtne2ps_pbh(weights, weights);
    return reinterpret_cast<const __m512i &>(twice);
  }
  static Lhs loadLhs(const uint16_t *from) {
    return reinterpret_cast<__m512bh>(_mm512_loadu_si512(from));
  }
  static Common loadCommon(const float *, int64_t) { return {}; }
  static __m512bh find(__m512i words, Table table, Common) {
    return reinterpret_cast<__m512bh>(_mm512_permutexvar_epi16(words, table));
  }
  static __m512 add(__m512 sums, Lhs lhs, __m512bh weights) {
    return _mm512_dpbf16_ps(sums, lhs, weights);
  }
};

// Does what LookUp does, then multiplies with a factor of each row and rounds again.
struct LookUpAndMultiply : LookUp {
  using Table = __m512;
  using Common = Halves;
  static constexpr bool evenFirst = true;
  static Table makeTable(const float *adjustments) {
    return ToBFloat16::round(scaleNumbers(adjustments));
  }
  static Common loadCommon(const float *factors, int64_t step) {
    return loadHalves(factors + step * columnStep);
  }
  static __m512bh find(__m512i words, Table table, const Common &factors) {
    const Halves found = findHalves(words, table);
    return _mm512_cvtne2ps_pbh(_mm512_mul_ps(found.odd, factors.odd),
                               _mm512_mul_ps(found.even, factors.even));
  }
};

} // namespace

const FinishPixels avx512FinishBFloat16 = finishPixels;

const MicroKernel avx512BFloat16 =
    pairKernel("avx512_bfloat16", /*steps=*/512, /*blockRows=*/384, multiplyPanels<Step>,
               manyColumns, aFewColumns, &avx512BFloat16Weights, &between, &ofVector);

const WeightKernel avx512BFloat16Weights = {
    "avx512_bfloat16_weights",
    avx512BFloat16,
    /*steps=*/64,
    {widen<false, Adjust::none>, widen<true, Adjust::none>},
    {nullptr, widen<true, Adjust::scale>, nullptr},
    {nullptr, widen<true, Adjust::divide>, nullptr},
    {nullptr, widen<true, Adjust::multiply>, nullptr},
    {widenPairs<false>, widenPairs<true>},
    {multiplyPanels<Step, 1>, multiplyPanels<Step, 2>, multiplyPanels<Step, 3>,
     multiplyPanels<Step, 4>, multiplyPanels<Step, 5>, multiplyPanels<Step, 6>},
    {{}, {columnKernel<LookUp>, columnKernel<LookUpAndMultiply>}, {}}};

} // namespace mpc::rt
