// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tiles of products by VPDPBUSD: up to six rows, in registers, by a strip of 64 columns. It
// multiplies unsigned bytes by signed ones, so rows are 128 larger than their numbers.
#ifndef MPC_RUNTIME_DRIVERS_CPU_KERNELS_VNNI_TILES_H
#define MPC_RUNTIME_DRIVERS_CPU_KERNELS_VNNI_TILES_H

#define MPC_INT8_TARGET __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")))
#include "runtime/drivers/cpu/kernels/int8_tiles.h"

namespace mpc::rt {

struct Vnni {
  using Vectors = Avx512Vectors;
  static constexpr int64_t stripColumns = 64, stepRows = 4, panelRows = 6;
  static constexpr uint32_t shift = 128;

  MPC_INT8_INLINE static __m512i loadWeights(const int8_t *strip, int v) {
    return _mm512_loadu_si512(strip + stepRows * Vectors::lanes * v);
  }
  MPC_INT8_INLINE static __m512i repeat(int32_t four) { return _mm512_set1_epi32(four); }
  MPC_INT8_INLINE static __m512i multiplyAdd(__m512i sums, __m512i factors, __m512i weights) {
    return _mm512_dpbusd_epi32(sums, factors, weights);
  }
  // Stores vector `v` of a row of `columns` sums. Masked stores take many cycles on AMD's CPUs.
  MPC_INT8_INLINE static void store(int32_t *row, int64_t columns, int v, __m512i sums) {
    const int64_t count = std::clamp<int64_t>(columns - 16 * v, 0, 16);
    if (count == 16)
      _mm512_storeu_si512(row + 16 * v, sums);
    else if (count == 8)
      _mm256_storeu_si256(reinterpret_cast<__m256i *>(row + 16 * v), _mm512_castsi512_si256(sums));
    else
      _mm512_mask_storeu_epi32(row + 16 * v, static_cast<__mmask16>((1u << count) - 1), sums);
  }
};

} // namespace mpc::rt

#endif
