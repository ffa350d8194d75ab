// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tile that the AVX-512 micro-kernels share: 6 rows by four vectors of columns, whose 24 sums
// cover the latency of two multiply-adds per cycle with the fewest loads.
//
// This header is for files compiled for AVX-512 alone: nothing here has external linkage.
#ifndef MPC_RUNTIME_DRIVERS_CPU_KERNELS_AVX512_PANELS_H
#define MPC_RUNTIME_DRIVERS_CPU_KERNELS_AVX512_PANELS_H

#include "mpc-rt/dtype.h"
#include "runtime/drivers/cpu/kernels/finished_panel.h"
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
                           lhsStepsAhead = 0, tileFetchingSteps = 4, stepsSideBySide = 1;
  static constexpr int finishedDtype = -1;
  static constexpr bool masksLoads = true;
  static Sums zero() { return _mm512_setzero_ps(); }
  static Sums load(const float *from) { return _mm512_load_ps(from); }
  static void store(float *to, Sums sums) { _mm512_store_ps(to, sums); }
  static Sums repeat(float number) { return _mm512_set1_ps(number); }
  static Sums plus(Sums a, Sums b) { return _mm512_add_ps(a, b); }
  static Sums larger(Sums a, Sums b) { return _mm512_max_ps(a, b); }
  static Sums loadFirst(const float *from, int64_t count, Sums others) {
    return _mm512_mask_loadu_ps(others, firstOf(count), from);
  }
  static Words loadWords(const void *from) { return _mm512_load_si512(from); }
  static Words noWords() { return _mm512_setzero_si512(); }
  static constexpr int64_t parts = 1;
  static constexpr int64_t copies = 1, lhsCopies = 1;
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

constexpr int64_t panelRows = Vectors512::panelRows, panelColumns = Vectors512::panelColumns;
constexpr int64_t panelVectors = panelColumns / Vectors512::lanes;
constexpr int64_t fewColumns = 32, columnsBetween = 48;

} // namespace
} // namespace mpc::rt

#endif
