// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tile that the AVX-512 micro-kernels share: 6 rows by four vectors of columns, whose 24 sums
// cover the latency of two multiply-adds per cycle with the fewest loads.
//
// This header is for files compiled for AVX-512 alone: nothing here has external linkage.
#ifndef MPC_RUNTIME_DRIVERS_CPU_KERNELS_AVX512_PANELS_H
#define MPC_RUNTIME_DRIVERS_CPU_KERNELS_AVX512_PANELS_H

#include "runtime/drivers/cpu/kernels/transpose16.h"
#include "runtime/drivers/cpu/kernels/vector_panels.h"

namespace mpc::rt {
namespace {

inline __mmask16 firstOf(int64_t count) {
  return count >= 16  ? ~__mmask16{0}
         : count <= 0 ? __mmask16{0}
                      : static_cast<__mmask16>((1u << count) - 1);
}

// Implements what vector_panels.h asks of a vector.
struct Vectors512 {
  using Sums = __m512;
  using Words = __m512i;
  static constexpr int64_t lanes = 16, panelRows = 6, panelColumns = 64, fetchingSteps = 1,
                           lhsStepsAhead = 0;
  static constexpr bool masksLoads = true;
  static Sums zero() { return _mm512_setzero_ps(); }
  static Sums load(const float *from) { return _mm512_load_ps(from); }
  static void store(float *to, Sums sums) { _mm512_store_ps(to, sums); }
  static Words loadWords(const void *from) { return _mm512_load_si512(from); }
  static Words noWords() { return _mm512_setzero_si512(); }
  static constexpr int64_t parts = 1;
  template <int64_t k> static Words part(Words words) { return words; }
  static Words broadcast(int32_t word) { return _mm512_set1_epi32(word); }
  static void transpose(Words (&lines)[lanes]) { transpose16(lines); }
  // Stores the first `count` lanes. Masked stores take many cycles on AMD's CPUs: where more steps
  // follow, which overwrite what is too much, eight lanes are stored instead of fewer.
  template <int64_t count> static void storeLanes(int32_t *to, Words values, bool moreFollow) {
    if constexpr (count >= lanes)
      _mm512_storeu_si512(to, values);
    else if (count <= 8 && moreFollow)
      _mm256_storeu_si256(reinterpret_cast<__m256i *>(to), _mm512_castsi512_si256(values));
    else
      _mm512_mask_storeu_epi32(to, firstOf(count), values);
  }
};

template <bool hasBias, bool hasRelu> void finishRows(const FinishedTile &tile) {
  constexpr int64_t lanes = Vectors512::lanes, half = lanes / 2;
  const int64_t whole = tile.columns / lanes * lanes, rest = tile.columns - whole;
  const auto finished = [](__m512 sums, __m512 bias) {
    const __m512 values = hasBias ? _mm512_add_ps(sums, bias) : sums;
    const __mmask16 isNegative =
        hasRelu ? _mm512_cmp_ps_mask(values, _mm512_setzero_ps(), _CMP_LT_OQ) : __mmask16{0};
    return hasRelu ? _mm512_mask_mov_ps(values, isNegative, _mm512_setzero_ps()) : values;
  };
  for (int64_t row = 0; row < tile.rowCount; ++row) {
    const float *sums = tile.sums + row * tile.sumStride;
    float *to = tile.rows[row];
    for (int64_t column = 0; column < whole; column += lanes)
      _mm512_storeu_ps(to + column,
                       finished(_mm512_load_ps(sums + column),
                                hasBias ? _mm512_loadu_ps(tile.bias + column) : __m512{}));
    if (rest == 0)
      continue;
    const __m512 last =
        finished(_mm512_load_ps(sums + whole),
                 hasBias ? _mm512_maskz_loadu_ps(firstOf(rest), tile.bias + whole) : __m512{});
    if (rest == half)
      _mm256_storeu_ps(to + whole, _mm512_castps512_ps256(last));
    else
      _mm512_mask_storeu_ps(to + whole, firstOf(rest), last);
  }
}

inline void finishTile(const FinishedTile &tile) {
  if (tile.bias)
    (tile.relu ? finishRows<true, true> : finishRows<true, false>)(tile);
  else
    (tile.relu ? finishRows<false, true> : finishRows<false, false>)(tile);
}

// `kernel`, whose tiles are finished in vectors.
constexpr PieceKernel withFinish(PieceKernel kernel) {
  kernel.finish = finishTile;
  return kernel;
}

constexpr int64_t panelRows = Vectors512::panelRows, panelColumns = Vectors512::panelColumns;
constexpr int64_t panelVectors = panelColumns / Vectors512::lanes;
constexpr int64_t fewColumns = 32;

} // namespace
} // namespace mpc::rt

#endif
