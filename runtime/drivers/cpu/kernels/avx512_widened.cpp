// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// bfloat16 on AVX-512 by multiply-adds of float32: a step is two k, which are widened in registers.
// Panels take half of the memory that panels of float32 do, which is what counts for a few rows;
// sums have the same order and bytes as theirs. For CPUs without VDPBF16PS, or where it is slow
// (docs/decisions/0120).
#include "runtime/drivers/cpu/kernels/avx512_bfloat16_lanes.h"

namespace mpc::rt {
namespace {

struct Step : Vectors512 {
  static constexpr int64_t depth = 2, parts = 2;
  // The first or the second k of each lane.
  template <int64_t k> static __m512i part(__m512i pairs) {
    return k == 0 ? _mm512_slli_epi32(pairs, 16)
                  : _mm512_and_si512(pairs, _mm512_set1_epi32(static_cast<int>(0xFFFF0000)));
  }
  static __m512 add(__m512 sums, __m512i factors, __m512i row) {
    return _mm512_fmadd_ps(_mm512_castsi512_ps(factors), _mm512_castsi512_ps(row), sums);
  }
};

constexpr PieceKernel pieces = pieceKernel<Step, Packs, panelColumns>(UpTo6{});

} // namespace

const MicroKernel avx512Widened = pairKernel("avx512_widened", /*steps=*/256, /*blockRows=*/192,
                                             multiplyPanels<Step>, pieces, pieces);

} // namespace mpc::rt
