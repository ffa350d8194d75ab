// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// float32 on AVX-512. A step is one k. 16-bit operands are widened while they are packed.
#include "runtime/drivers/cpu/avx512_panels.h"

namespace mpc::rt {
namespace {

// How an operand's elements become float32; the rest is the same for all of them.
template <typename Element> struct Widened : Element {
  static constexpr int64_t depth = 1;
  using Storage = typename Element::Storage;
  static __m512i alongDepth(const Storage *from, int64_t count) {
    return _mm512_castps_si512(Element::load(firstOf(count), from));
  }
  static __m512i acrossDepth(const Storage *from, int64_t, int64_t count, __mmask16 mask) {
    return _mm512_castps_si512(Element::load(count > 0 ? mask : __mmask16{0}, from));
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

struct Step {
  static __m512 add(__m512 sums, __m512i factors, __m512i row) {
    return _mm512_fmadd_ps(_mm512_castsi512_ps(factors), _mm512_castsi512_ps(row), sums);
  }
};

template <int64_t width> struct Packs {
  static constexpr PackPanels of[3][2] = {
      {packAcrossDepth<Widened<Float32>, width>, packAlongDepth<Widened<Float32>, width>},
      {packAcrossDepth<Widened<BFloat16>, width>, packAlongDepth<Widened<BFloat16>, width>},
      {packAcrossDepth<Widened<Float16>, width>, packAlongDepth<Widened<Float16>, width>}};
};

constexpr PieceKernel manyColumns = pieceKernel<Step, Packs, panelColumns>(UpTo6{});
constexpr PieceKernel aFewColumns = pieceKernel<Step, Packs, fewColumns>(UpTo12{});

} // namespace

const MicroKernel avx512Float32 = {"avx512_float32",
                                   panelRows,
                                   panelColumns,
                                   /*depth=*/1,
                                   panelRows *stepBytesPerLane,
                                   panelColumns *stepBytesPerLane,
                                   /*steps=*/128,
                                   /*blockRows=*/384,
                                   /*blockColumns=*/512,
                                   Packs<panelRows>::of,
                                   Packs<panelColumns>::of,
                                   nothing,
                                   nothing,
                                   multiplyPanels<Step>,
                                   {&manyColumns, &aFewColumns}};

} // namespace mpc::rt
