// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// bfloat16 on AVX-512: a step is two k, whose products VDPBF16PS adds to a sum in float32. It
// rounds to nearest even and takes subnormal numbers for zero (Intel's Architecture Instruction Set
// Extensions Programming Reference, chapter 2), as TDPBF16PS of AMX does.
#include "runtime/drivers/cpu/avx512_panels.h"

namespace mpc::rt {
namespace {

struct Pairs {
  static constexpr int64_t depth = 2;
  using Storage = uint16_t;
  static __m512i alongDepth(const uint16_t *from, int64_t count) {
    const __mmask32 mask = count >= 32  ? ~__mmask32{0}
                           : count <= 0 ? __mmask32{0}
                                        : (__mmask32{1} << count) - 1;
    return _mm512_maskz_loadu_epi16(mask, from);
  }
  static __m512i acrossDepth(const uint16_t *from, int64_t stride, int64_t count, __mmask16 mask) {
    const __m256i even = _mm256_maskz_loadu_epi16(count > 0 ? mask : __mmask16{0}, from);
    const __m256i odd =
        count > 1 ? _mm256_maskz_loadu_epi16(mask, from + stride) : _mm256_setzero_si256();
    return _mm512_or_si512(_mm512_cvtepu16_epi32(even),
                           _mm512_slli_epi32(_mm512_cvtepu16_epi32(odd), 16));
  }
};

struct Step {
  static __m512 add(__m512 sums, __m512i factors, __m512i row) {
    return _mm512_dpbf16_ps(sums, reinterpret_cast<__m512bh>(factors),
                            reinterpret_cast<__m512bh>(row));
  }
};

template <int64_t width> struct Packs {
  static constexpr PackPanels of[3][2] = {
      {nullptr, nullptr},
      {packAcrossDepth<Pairs, width>, packAlongDepth<Pairs, width>},
      {nullptr, nullptr}};
};

constexpr PieceKernel manyColumns = pieceKernel<Step, Packs, panelColumns>(UpTo6{});
constexpr PieceKernel aFewColumns = pieceKernel<Step, Packs, fewColumns>(UpTo12{});

} // namespace

const MicroKernel avx512BFloat16 = {"avx512_bfloat16",
                                    panelRows,
                                    panelColumns,
                                    /*depth=*/2,
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
