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

template <typename Element, int64_t width>
constexpr PackPanels packs[2] = {packAcrossDepth<Widened<Element>, width>,
                                 packAlongDepth<Widened<Element>, width>};

} // namespace

const MicroKernel avx512Float32 = {
    "avx512_float32",
    panelRows,
    panelColumns,
    /*depth=*/1,
    panelRows *stepBytesPerLane,
    panelColumns *stepBytesPerLane,
    /*steps=*/128,
    /*blockRows=*/384,
    /*blockColumns=*/512,
    {{packs<Float32, panelRows>[0], packs<Float32, panelRows>[1]},
     {packs<BFloat16, panelRows>[0], packs<BFloat16, panelRows>[1]},
     {packs<Float16, panelRows>[0], packs<Float16, panelRows>[1]}},
    {{packs<Float32, panelColumns>[0], packs<Float32, panelColumns>[1]},
     {packs<BFloat16, panelColumns>[0], packs<BFloat16, panelColumns>[1]},
     {packs<Float16, panelColumns>[0], packs<Float16, panelColumns>[1]}},
    nothing,
    nothing,
    multiplyPanels<Step>};

} // namespace mpc::rt
