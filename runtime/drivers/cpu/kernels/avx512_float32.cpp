// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// float32 on AVX-512. A step is one k. 16-bit operands are widened while they are packed.
#include "runtime/drivers/cpu/kernels/avx512_columns.h"
#include "runtime/drivers/cpu/kernels/avx512_weights.h"

namespace mpc::rt {
namespace {

// How an operand's elements become float32; the rest is the same for all of them.
template <typename Element> struct Widened : Vectors512 {
  static constexpr int64_t depth = 1;
  using Storage = typename Element::Storage;
  static __m512i alongDepth(const Storage *from, int64_t count) {
    return _mm512_castps_si512(Element::load(firstOf(count), from));
  }
  static __m512i acrossDepth(const Storage *from, int64_t, int64_t count, int64_t existing) {
    return _mm512_castps_si512(Element::load(count > 0 ? firstOf(existing) : __mmask16{0}, from));
  }
};

struct Float32 {
  using Storage = float;
  static __m512 load(__mmask16 mask, const float *from) {
    return _mm512_maskz_loadu_ps(mask, from);
  }
};
struct BFloat16 {
  using Storage = uint16_t;
  static __m512 load(__mmask16 mask, const uint16_t *from) {
    __m512i wide = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(mask, from));
    return _mm512_castsi512_ps(_mm512_slli_epi32(wide, 16));
  }
};
struct Float16 {
  using Storage = uint16_t;
  static __m512 load(__mmask16 mask, const uint16_t *from) {
    return _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(mask, from));
  }
};

struct Step : Vectors512 {
  static constexpr int64_t depth = 1;
  static __m512 add(__m512 sums, __m512i factors, __m512i row) {
    return _mm512_fmadd_ps(_mm512_castsi512_ps(factors), _mm512_castsi512_ps(row), sums);
  }
};

struct AheadStep : Step {
  static constexpr int64_t lhsStepsAhead = 16;
};

template <int64_t width> struct Packs {
  static constexpr PackPanels of[3][2] = {
      {packAcrossDepth<Widened<Float32>, width>, packAlongDepth<Widened<Float32>, width>},
      {packAcrossDepth<Widened<BFloat16>, width>, packAlongDepth<Widened<BFloat16>, width>},
      {packAcrossDepth<Widened<Float16>, width>, packAlongDepth<Widened<Float16>, width>}};
};

constexpr PieceKernel manyColumns = pieceKernel<Step, Packs, panelColumns>(UpTo6{});
constexpr PieceKernel aFewColumns = pieceKernel<Step, Packs, fewColumns>(UpTo12{});

struct ToFloat16 {
  static __m512 round(__m512 x) {
    return _mm512_cvtph_ps(_mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
  }
};

template <bool isInt4, Adjust adjust, typename Round = KeepFloat32>
void widen(const WeightRows &from, int64_t steps, void *panel) {
  auto *to = static_cast<float *>(panel);
  Adjusted<isInt4, adjust, Round> adjusted(from);
  forRuns(from, adjusted, [&](int64_t first, int64_t last) {
    for (int64_t row = first; row < last; ++row)
      for (int64_t v = 0; v < panelVectors; ++v) {
        const __m512 weights = adjusted.weights(row, v);
        _mm512_store_ps(to + row * panelColumns + 16 * v,
                        adjust == Adjust::none ? weights : Round::round(weights));
      }
  });
  for (int64_t row = from.rows; row < steps; ++row)
    for (int64_t v = 0; v < panelVectors; ++v)
      _mm512_store_ps(to + row * panelColumns + 16 * v, _mm512_setzero_ps());
}

// All weights of a block are there, rounded.
template <typename Round> struct LookUp {
  using Element = float;
  using Table = __m512;
  using Lhs = Halves;
  struct Common {};
  static constexpr bool evenFirst = true;
  static Table makeTable(const float *adjustments) {
    return Round::round(scaleNumbers(adjustments));
  }
  static Lhs loadLhs(const float *from) { return loadHalves(from); }
  static Common loadCommon(const float *, int64_t) { return {}; }
  static Halves find(__m512i words, Table table, Common) { return findHalves(words, table); }
  static __m512 add(__m512 sums, const Lhs &lhs, const Halves &weights) {
    return _mm512_fmadd_ps(lhs.odd, weights.odd, _mm512_fmadd_ps(lhs.even, weights.even, sums));
  }
};

// That divided by a number of each row, and rounded again.
template <typename Round> struct LookUpAndDivide : LookUp<Round> {
  using Common = Halves;
  static Common loadCommon(const float *factors, int64_t step) {
    return loadHalves(factors + step * columnStep);
  }
  static Halves find(__m512i words, __m512 table, const Common &divisors) {
    const Halves found = findHalves(words, table);
    return {Round::round(_mm512_div_ps(found.even, divisors.even)),
            Round::round(_mm512_div_ps(found.odd, divisors.odd))};
  }
};

constexpr MicroKernel kernelOf(int64_t steps, void (*multiply)(const MicroTile &)) {
  return {"avx512_float32",
          panelRows,
          panelColumns,
          /*depth=*/1,
          panelRows * stepBytesPerLane,
          panelColumns * stepBytesPerLane,
          steps,
          /*blockRows=*/384,
          /*blockColumns=*/512,
          /*acrossSteps=*/16,
          /*alongSteps=*/0,
          /*groupPanels=*/1,
          Packs<panelRows>::of,
          Packs<panelColumns>::of,
          nothing,
          nothing,
          multiply,
          {&manyColumns, &aFewColumns},
          &avx512Float32Weights};
}

} // namespace

const MicroKernel avx512Float32 = kernelOf(/*steps=*/512, multiplyPanels<Step>);
const MicroKernel avx512Float32Ahead = kernelOf(/*steps=*/256, multiplyPanels<AheadStep>);

const WeightKernel avx512Float32Weights = {
    "avx512_float32_weights",
    avx512Float32,
    /*steps=*/64,
    {widen<false, Adjust::none>, widen<true, Adjust::none>},
    {widen<true, Adjust::scale>, nullptr, widen<true, Adjust::scale, ToFloat16>},
    {widen<true, Adjust::divide>, nullptr, widen<true, Adjust::divide, ToFloat16>},
    {},
    {},
    {multiplyPanels<Step, 1>, multiplyPanels<Step, 2>, multiplyPanels<Step, 3>,
     multiplyPanels<Step, 4>, multiplyPanels<Step, 5>, multiplyPanels<Step, 6>},
    {{columnKernel<LookUp<KeepFloat32>>, columnKernel<LookUpAndDivide<KeepFloat32>>},
     {},
     {columnKernel<LookUp<ToFloat16>>, columnKernel<LookUpAndDivide<ToFloat16>>}}};

} // namespace mpc::rt
