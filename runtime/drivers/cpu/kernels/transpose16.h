// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// This header is for files compiled for AVX-512 alone: nothing here has external linkage.
#ifndef MPC_RUNTIME_DRIVERS_CPU_KERNELS_TRANSPOSE16_H
#define MPC_RUNTIME_DRIVERS_CPU_KERNELS_TRANSPOSE16_H

#include <immintrin.h>

namespace mpc::rt {
namespace {

// Transposes 16 rows of 16 32-bit numbers.
inline void transpose16(__m512i (&rows)[16]) {
  __m512i pairs[16], quads[16];
  for (int i = 0; i < 16; i += 2) {
    pairs[i] = _mm512_unpacklo_epi32(rows[i], rows[i + 1]);
    pairs[i + 1] = _mm512_unpackhi_epi32(rows[i], rows[i + 1]);
  }
  for (int i = 0; i < 16; i += 4)
    for (int half = 0; half < 2; ++half) {
      quads[i + 2 * half] = _mm512_unpacklo_epi64(pairs[i + half], pairs[i + 2 + half]);
      quads[i + 2 * half + 1] = _mm512_unpackhi_epi64(pairs[i + half], pairs[i + 2 + half]);
    }
  // quads[4 * g + c] holds, in its 128-bit lane l, column 4 * l + c of the rows 4 * g to 4 * g + 3.
  for (int c = 0; c < 4; ++c) {
    __m512i low01 = _mm512_shuffle_i32x4(quads[c], quads[4 + c], 0x88);
    __m512i low23 = _mm512_shuffle_i32x4(quads[8 + c], quads[12 + c], 0x88);
    __m512i high01 = _mm512_shuffle_i32x4(quads[c], quads[4 + c], 0xdd);
    __m512i high23 = _mm512_shuffle_i32x4(quads[8 + c], quads[12 + c], 0xdd);
    rows[c] = _mm512_shuffle_i32x4(low01, low23, 0x88);
    rows[8 + c] = _mm512_shuffle_i32x4(low01, low23, 0xdd);
    rows[4 + c] = _mm512_shuffle_i32x4(high01, high23, 0x88);
    rows[12 + c] = _mm512_shuffle_i32x4(high01, high23, 0xdd);
  }
}

} // namespace
} // namespace mpc::rt

#endif
