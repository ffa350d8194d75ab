// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Panels of bfloat16 on AVX-512: a step has two k of each lane, side by side.
//
// This header is for files compiled for AVX-512 alone: nothing here has external linkage.
#ifndef MPC_RUNTIME_DRIVERS_CPU_KERNELS_AVX512_BFLOAT16_LANES_H
#define MPC_RUNTIME_DRIVERS_CPU_KERNELS_AVX512_BFLOAT16_LANES_H

#include "runtime/drivers/cpu/kernels/avx512_panels.h"

namespace mpc::rt {
namespace {

struct Pairs : Vectors512 {
  static constexpr int64_t depth = 2;
  using Storage = uint16_t;
  static __m512i alongDepth(const uint16_t *from, int64_t count) {
    const __mmask32 mask = count >= 32  ? ~__mmask32{0}
                           : count <= 0 ? __mmask32{0}
                                        : (__mmask32{1} << count) - 1;
    return _mm512_maskz_loadu_epi16(mask, from);
  }
  static __m512i acrossDepth(const uint16_t *from, int64_t stride, int64_t count,
                             int64_t existing) {
    const __mmask16 mask = firstOf(existing);
    const __m256i even = _mm256_maskz_loadu_epi16(count > 0 ? mask : __mmask16{0}, from);
    const __m256i odd =
        count > 1 ? _mm256_maskz_loadu_epi16(mask, from + stride) : _mm256_setzero_si256();
    return _mm512_or_si512(_mm512_cvtepu16_epi32(even),
                           _mm512_slli_epi32(_mm512_cvtepu16_epi32(odd), 16));
  }
};

template <int64_t width> struct Packs {
  static constexpr PackPanels of[3][2] = {
      {nullptr, nullptr},
      {packAcrossDepth<Pairs, width>, packAlongDepth<Pairs, width>},
      {nullptr, nullptr}};
};

// Products of such panels: kernels differ in how they multiply and in how much of a block is near.
constexpr MicroKernel pairKernel(const char *name, int64_t steps, int64_t blockRows,
                                 MultiplyTiles multiply, const PieceKernel &manyColumns,
                                 const PieceKernel &fewColumns,
                                 const WeightKernel *weights = nullptr,
                                 const PieceKernel *between = nullptr,
                                 const PieceKernel *ofVector = nullptr) {
  return {name,
          panelRows,
          panelColumns,
          /*depth=*/2,
          panelRows * stepBytesPerLane,
          panelColumns * stepBytesPerLane,
          steps,
          blockRows,
          /*blockColumns=*/512,
          /*longRows=*/48,
          /*longColumns=*/4096,
          /*acrossSteps=*/16,
          /*alongSteps=*/0,
          /*groupPanels=*/1,
          Packs<panelRows>::of,
          Packs<panelColumns>::of,
          nothing,
          nothing,
          multiply,
          {&manyColumns, &fewColumns},
          weights,
          /*multiplyAndPack=*/nullptr,
          /*piecesBetween=*/nullptr,
          /*piecesOfVector=*/nullptr,
          {between, ofVector}};
}

} // namespace
} // namespace mpc::rt

#endif
