// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Numbers of 8 bits made of a few vectors of sums, on AVX-512 and on AVX2: the same steps of both.
#ifndef MPC_RUNTIME_DRIVERS_CPU_KERNELS_REQUANTIZED_VECTORS_H
#define MPC_RUNTIME_DRIVERS_CPU_KERNELS_REQUANTIZED_VECTORS_H

#include "runtime/drivers/result_kernel.h"

#include <algorithm>
#include <cstring>
#include <immintrin.h>

// Sums whose address a call gets would leave the registers for the whole tile.
#define MPC_V3_INLINE __attribute__((target("avx2"), always_inline)) inline
#define MPC_V4_INLINE                                                                              \
  __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl"), always_inline)) inline

namespace mpc::rt {

struct Avx512Vectors {
  using Integers = __m512i;
  using Floats = __m512;
  static constexpr int lanes = 16, most = 4;

  struct Bounds {
    __m512 low, high;
    __m512i offset; // of 32 bits

    MPC_V4_INLINE explicit Bounds(const RequantizedSums &to)
        : low(_mm512_set1_ps(to.low)), high(_mm512_set1_ps(to.high)),
          offset(_mm512_set1_epi32(to.offset)) {}
  };

  MPC_V4_INLINE static Integers zeros() { return _mm512_setzero_si512(); }
  MPC_V4_INLINE static Integers loadWhole(const void *from) { return _mm512_loadu_si512(from); }
  MPC_V4_INLINE static Integers add(Integers a, Integers b) { return _mm512_add_epi32(a, b); }
  // Integers are rounded to the nearest float32.
  MPC_V4_INLINE static Floats toFloats(Integers sums) { return _mm512_cvtepi32_ps(sums); }

  // The first `columns` numbers of some vectors exist: those of vector `v`, and zeros.
  template <typename Number>
  MPC_V4_INLINE static Integers loadFirst(const Number *from, int64_t columns, int v) {
    static_assert(sizeof(Number) == sizeof(int32_t));
    return _mm512_maskz_loadu_epi32(maskOf(columns, v), from + lanes * v);
  }
  MPC_V4_INLINE static Floats loadFirstFloats(const float *from, int64_t columns, int v) {
    return _mm512_castsi512_ps(loadFirst(from, columns, v));
  }

  // Where the first operand of a maximum is NaN, it is the second one. Products are rounded to the
  // nearest integer, halves to the even one.
  MPC_V4_INLINE static Integers round(Floats sums, Floats scales, const Bounds &bounds) {
    const __m512 scaled = _mm512_max_ps(_mm512_mul_ps(sums, scales), bounds.low);
    return add(_mm512_cvtps_epi32(_mm512_min_ps(scaled, bounds.high)), bounds.offset);
  }

  // Stores the lowest 8 bits of a row's numbers, of whose vectors only the last one may miss some.
  // Their sizes are within 16 bits.
  template <int vectors>
  MPC_V4_INLINE static void store(int8_t *to, int64_t columns, const Integers (&whole)[vectors]) {
    const int64_t left = columns - lanes * (vectors - 1);
    if constexpr (vectors == 1) {
      storeLast(to, left, _mm512_cvtepi32_epi8(whole[0]));
    } else {
      const __m512i bytes = joinBytes(whole);
      if (vectors == most && left >= lanes)
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

private:
  static __mmask16 maskOf(int64_t columns, int v) {
    const int64_t count = std::clamp<int64_t>(columns - lanes * v, 0, lanes);
    return static_cast<__mmask16>((1u << count) - 1);
  }
  // All numbers in their order. Two packings leave quarters of vectors beside each other.
  template <int vectors> MPC_V4_INLINE static __m512i joinBytes(const __m512i (&whole)[vectors]) {
    static_assert(vectors > 1 && vectors <= most);
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
  MPC_V4_INLINE static void storeLast(int8_t *to, int64_t count, __m128i bytes) {
    if (count >= lanes)
      _mm_storeu_si128(reinterpret_cast<__m128i *>(to), bytes);
    else if (count == 8)
      _mm_storel_epi64(reinterpret_cast<__m128i *>(to), bytes);
    else
      _mm_mask_storeu_epi8(to, static_cast<__mmask16>((1u << count) - 1), bytes);
  }
};

struct Avx2Vectors {
  using Integers = __m256i;
  using Floats = __m256;
  static constexpr int lanes = 8, most = 2;

  struct Bounds {
    __m256 low, high;
    __m256i offset; // of 32 bits

    MPC_V3_INLINE explicit Bounds(const RequantizedSums &to)
        : low(_mm256_set1_ps(to.low)), high(_mm256_set1_ps(to.high)),
          offset(_mm256_set1_epi32(to.offset)) {}
  };

  MPC_V3_INLINE static Integers zeros() { return _mm256_setzero_si256(); }
  MPC_V3_INLINE static Integers loadWhole(const void *from) {
    return _mm256_loadu_si256(static_cast<const __m256i *>(from));
  }
  MPC_V3_INLINE static Integers add(Integers a, Integers b) { return _mm256_add_epi32(a, b); }
  MPC_V3_INLINE static Floats toFloats(Integers sums) { return _mm256_cvtepi32_ps(sums); }

  // All bits of the first `count` numbers.
  MPC_V3_INLINE static __m256i maskOf(int64_t count) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int32_t>(count)),
                              _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
  }
  template <typename Number>
  MPC_V3_INLINE static Integers loadFirst(const Number *from, int64_t columns, int v) {
    static_assert(sizeof(Number) == sizeof(int32_t));
    const int64_t count = columns - lanes * v;
    return count >= lanes ? loadWhole(from + lanes * v)
                          : _mm256_maskload_epi32(reinterpret_cast<const int *>(from + lanes * v),
                                                  maskOf(count));
  }
  MPC_V3_INLINE static Floats loadFirstFloats(const float *from, int64_t columns, int v) {
    return _mm256_castsi256_ps(loadFirst(from, columns, v));
  }

  MPC_V3_INLINE static Integers round(Floats sums, Floats scales, const Bounds &bounds) {
    const __m256 scaled = _mm256_max_ps(_mm256_mul_ps(sums, scales), bounds.low);
    return add(_mm256_cvtps_epi32(_mm256_min_ps(scaled, bounds.high)), bounds.offset);
  }

  template <int vectors>
  MPC_V3_INLINE static void store(int8_t *to, int64_t columns, const Integers (&whole)[vectors]) {
    static_assert(vectors <= most);
    // Packings leave quarters of vectors beside each other.
    const __m256i both =
        _mm256_and_si256(_mm256_packs_epi32(whole[0], whole[vectors - 1]), _mm256_set1_epi16(255));
    const __m128i bytes = _mm_shuffle_epi32(
        _mm_packus_epi16(_mm256_castsi256_si128(both), _mm256_extracti128_si256(both, 1)),
        vectors == 2 ? 0xD8 : 0x08);
    if (vectors == 2 && columns >= 2 * lanes)
      _mm_storeu_si128(reinterpret_cast<__m128i *>(to), bytes);
    else if (columns == lanes)
      _mm_storel_epi64(reinterpret_cast<__m128i *>(to), bytes);
    else
      storeFew(to, columns, bytes);
  }

private:
  // Stores 1 to 15 numbers.
  MPC_V3_INLINE static void storeFew(int8_t *to, int64_t count, __m128i bytes) {
    if (count & 8) {
      _mm_storel_epi64(reinterpret_cast<__m128i *>(to), bytes);
      bytes = _mm_srli_si128(bytes, 8);
      to += 8;
    }
    if (count & 4) {
      const int32_t four = _mm_cvtsi128_si32(bytes);
      std::memcpy(to, &four, sizeof(four));
      bytes = _mm_srli_si128(bytes, 4);
      to += 4;
    }
    const int32_t last = _mm_cvtsi128_si32(bytes);
    if (count & 2)
      std::memcpy(to, &last, 2);
    if (count & 1)
      to[count & 2] = static_cast<int8_t>(count & 2 ? last >> 16 : last);
  }
};

} // namespace mpc::rt

#endif
