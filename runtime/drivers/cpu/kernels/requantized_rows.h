// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Numbers of 8 bits made of up to four vectors of sums, on AVX-512.
#ifndef MPC_RUNTIME_DRIVERS_CPU_KERNELS_REQUANTIZED_ROWS_H
#define MPC_RUNTIME_DRIVERS_CPU_KERNELS_REQUANTIZED_ROWS_H

#include "runtime/drivers/result_kernel.h"

#include <algorithm>
#include <immintrin.h>

#define MPC_V4 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))
// Sums whose address a call gets would leave the registers for the whole tile.
#define MPC_V4_INLINE MPC_V4 __attribute__((always_inline)) inline

namespace mpc::rt::requantized {

constexpr int lanes = 16, mostVectors = 4;

// The first `columns` of some vectors exist: those of vector `v`.
inline __mmask16 maskOf(int64_t columns, int v) {
  const int64_t count = std::clamp<int64_t>(columns - lanes * v, 0, lanes);
  return static_cast<__mmask16>((1u << count) - 1);
}
template <typename Number>
MPC_V4_INLINE __m512i loadFirst(const Number *from, int64_t columns, int v) {
  static_assert(sizeof(Number) == sizeof(int32_t));
  return _mm512_maskz_loadu_epi32(maskOf(columns, v), from + lanes * v);
}

struct Bounds {
  __m512 low, high;
  __m512i offset; // of 32 bits

  MPC_V4 __attribute__((always_inline)) explicit Bounds(const RequantizedSums &to)
      : low(_mm512_set1_ps(to.low)), high(_mm512_set1_ps(to.high)),
        offset(_mm512_set1_epi32(to.offset)) {}
};

// Where the first operand of a maximum is NaN, it is the second one. Sums are rounded to the
// nearest float32, products to the nearest integer, halves to the even one.
MPC_V4_INLINE __m512i round(__m512 sums, __m512 scales, const Bounds &bounds) {
  const __m512 scaled = _mm512_max_ps(_mm512_mul_ps(sums, scales), bounds.low);
  return _mm512_add_epi32(_mm512_cvtps_epi32(_mm512_min_ps(scaled, bounds.high)), bounds.offset);
}

// The lowest 8 bits of all numbers, in their order. Two packings leave quarters of vectors beside
// each other.
template <int vectors> MPC_V4_INLINE __m512i joinBytes(const __m512i (&whole)[vectors]) {
  static_assert(vectors > 1 && vectors <= mostVectors);
  const __m512i bytes = _mm512_set1_epi16(255);
  const __m512i order = _mm512_set_epi32(15, 11, 7, 3, 14, 10, 6, 2, 13, 9, 5, 1, 12, 8, 4, 0);
  const __m512i first = _mm512_and_si512(_mm512_packs_epi32(whole[0], whole[1]), bytes);
  __m512i second = first;
  if constexpr (vectors == 3)
    second = _mm512_and_si512(_mm512_packs_epi32(whole[2], whole[2]), bytes);
  if constexpr (vectors == 4)
    second = _mm512_and_si512(_mm512_packs_epi32(whole[2], whole[3]), bytes);
  return _mm512_permutexvar_epi32(order, _mm512_packus_epi16(first, second));
}

// Stores `count` numbers, those that exist of the last vector. Masked stores take many cycles on
// AMD's CPUs.
MPC_V4_INLINE void storeLast(int8_t *to, int64_t count, __m128i bytes) {
  if (count >= lanes)
    _mm_storeu_si128(reinterpret_cast<__m128i *>(to), bytes);
  else if (count == 8)
    _mm_storel_epi64(reinterpret_cast<__m128i *>(to), bytes);
  else
    _mm_mask_storeu_epi8(to, static_cast<__mmask16>((1u << count) - 1), bytes);
}

// The numbers of a row, of whose vectors only the last one may miss some. Their sizes are within 16
// bits.
template <int vectors>
MPC_V4_INLINE void store(int8_t *to, int64_t columns, const __m512i (&whole)[vectors],
                         const Bounds & /*bounds*/) {
  const int64_t left = columns - lanes * (vectors - 1);
  if constexpr (vectors == 1) {
    storeLast(to, left, _mm512_cvtepi32_epi8(whole[0]));
  } else {
    const __m512i bytes = joinBytes(whole);
    if (vectors == mostVectors && left >= lanes)
      return _mm512_storeu_si512(to, bytes);
    if constexpr (vectors == 2)
      _mm_storeu_si128(reinterpret_cast<__m128i *>(to), _mm512_castsi512_si128(bytes));
    else
      _mm256_storeu_si256(reinterpret_cast<__m256i *>(to), _mm512_castsi512_si256(bytes));
    if constexpr (vectors == 4)
      _mm_storeu_si128(reinterpret_cast<__m128i *>(to + 2 * lanes),
                       _mm512_extracti32x4_epi32(bytes, 2));
    storeLast(to + lanes * (vectors - 1), left, _mm512_extracti32x4_epi32(bytes, vectors - 1));
  }
}

} // namespace mpc::rt::requantized

#endif
