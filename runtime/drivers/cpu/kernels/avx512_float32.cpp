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

struct Float32Row : Vectors512 {
  static constexpr int64_t bytes = 4;
  static __m512 round(__m512 x) { return x; }
  static void storeRow(void *to, __m512 values) { _mm512_storeu_ps(to, values); }
  // Masked stores take many cycles on AMD's CPUs.
  static void storeFirst(void *to, __m512 values, int64_t count) {
    if (count == 8)
      _mm256_storeu_ps(static_cast<float *>(to), _mm512_castps512_ps256(values));
    else
      _mm512_mask_storeu_ps(to, firstOf(count), values);
  }
};

struct Step : Vectors512 {
  static constexpr int64_t depth = 1;
  static constexpr int finishedDtype = MPC_RT_FLOAT32;
  using Finish = FinishedPanel<Float32Row>;
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
constexpr PieceKernel between = pieceKernel<Step, Packs, columnsBetween>(UpTo8{});
constexpr PieceKernel ofVector = pieceKernel<Step, Packs, Vectors512::lanes>(UpTo12{});

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

// A unit is 16 bytes of 16 lanes whose k is contiguous. Quarters of a vector come from memory in
// place, which leaves half of the permutations that whole rows would take.
template <typename Storage> class StepsAlong {
public:
  explicit StepsAlong(const PackedSteps &packed)
      : from(static_cast<const Storage *>(packed.from)), stride(packed.stride),
        to(static_cast<int32_t *>(packed.to)) {}
  static int64_t countOf(const PackedSteps &packed) { return packed.steps / stepsOfUnit; }
  void pack() {
    const __m512i a = quarters(from), b = quarters(from + stride), c = quarters(from + 2 * stride),
                  d = quarters(from + 3 * stride);
    const __m512i ab = _mm512_unpacklo_epi32(a, b), cd = _mm512_unpacklo_epi32(c, d);
    store(0, _mm512_unpacklo_epi64(ab, cd));
    store(1, _mm512_unpackhi_epi64(ab, cd));
    const __m512i abEnd = _mm512_unpackhi_epi32(a, b), cdEnd = _mm512_unpackhi_epi32(c, d);
    store(2, _mm512_unpacklo_epi64(abEnd, cdEnd));
    store(3, _mm512_unpackhi_epi64(abEnd, cdEnd));
    from += stepsOfUnit;
    to += stepsOfUnit * panelColumns;
  }

private:
  static constexpr int64_t stepsOfUnit = 16 / sizeof(Storage);
  static_assert(PackedSteps::stepsAtOnce % stepsOfUnit == 0);

  // 16 bytes of every fourth lane.
  __m512i quarters(const Storage *first) const {
    const auto load = [&](int64_t lane) {
      return _mm_loadu_si128(reinterpret_cast<const __m128i *>(first + lane * stride));
    };
    __m512i found = _mm512_castsi128_si512(load(0));
    found = _mm512_inserti32x4(found, load(4), 1);
    found = _mm512_inserti32x4(found, load(8), 2);
    return _mm512_inserti32x4(found, load(12), 3);
  }
  // 32 bits of each lane: one step, or two of bfloat16, which are widened.
  void store(int64_t word, __m512i lanes) const {
    if (sizeof(Storage) == sizeof(float)) {
      _mm512_store_si512(to + word * panelColumns, lanes);
      return;
    }
    const __m512i second = _mm512_set1_epi32(static_cast<int>(0xFFFF0000));
    _mm512_store_si512(to + 2 * word * panelColumns, _mm512_slli_epi32(lanes, 16));
    _mm512_store_si512(to + (2 * word + 1) * panelColumns, _mm512_and_si512(lanes, second));
  }
  const Storage *from;
  int64_t stride;
  int32_t *to;
};

template <typename Units> void multiplyAndPack(const MicroTile &tile) {
  multiplyPanels<AheadStep, panelRows, PackingMeanwhile<Units>>(tile);
}
template <typename Element> using Across = StepsAcross<Widened<Element>, panelColumns>;

constexpr MultiplyTiles packsMeanwhile[3][2] = {
    {multiplyAndPack<Across<Float32>>, multiplyAndPack<StepsAlong<float>>},
    {multiplyAndPack<Across<BFloat16>>, multiplyAndPack<StepsAlong<uint16_t>>},
    {multiplyAndPack<Across<Float16>>, nullptr}};

constexpr MicroKernel kernelOf(int64_t steps, int64_t blockRows, int64_t longRows,
                               int64_t longColumns, MultiplyTiles multiply,
                               const MultiplyTiles (*multiplyAndPack)[2],
                               const PieceKernel *piecesOfVector, const PieceKernel *ofShortRows) {
  return {"avx512_float32",
          panelRows,
          panelColumns,
          /*depth=*/1,
          panelRows * stepBytesPerLane,
          panelColumns * stepBytesPerLane,
          steps,
          blockRows,
          /*blockColumns=*/512,
          longRows,
          longColumns,
          /*acrossSteps=*/16,
          /*alongSteps=*/0,
          /*groupPanels=*/1,
          Packs<panelRows>::of,
          Packs<panelColumns>::of,
          nothing,
          nothing,
          multiply,
          {&manyColumns, &aFewColumns},
          &avx512Float32Weights,
          multiplyAndPack,
          /*piecesBetween=*/nullptr,
          piecesOfVector,
          {ofShortRows}};
}

} // namespace

const MicroKernel avx512Float32 = kernelOf(/*steps=*/512, /*blockRows=*/384, /*longRows=*/48,
                                           /*longColumns=*/4096, multiplyPanels<Step>,
                                           /*multiplyAndPack=*/nullptr, &ofVector, &between);
const MicroKernel avx512Float32Ahead =
    kernelOf(/*steps=*/128, /*blockRows=*/192, /*longRows=*/192, /*longColumns=*/1024,
             multiplyExistingRows<AheadStep, 0, 1, 2, 3, 4, 5>, packsMeanwhile,
             /*piecesOfVector=*/nullptr, /*ofShortRows=*/nullptr);

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
