// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tiles of AMX in software, each thread with its own: what Intel's instructions compute (Software
// Developer's Manual, volume 2; Architecture Instruction Set Extensions Programming Reference,
// chapter 3), and an end with a message where they would fault. Needs AVX-512 (x86-64-v4).
#ifndef MPC_TEST_SOFTWARETILES_SOFTWARE_H
#define MPC_TEST_SOFTWARETILES_SOFTWARE_H

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

namespace mpc::tiles {

// Linux permits tiles on arch_prctl(ARCH_REQ_XCOMP_PERM); without, the other functions end the
// program.
void permit();

void loadConfiguration(const void *configuration); // LDTILECFG
void storeConfiguration(void *configuration);      // STTILECFG
void release();                                    // TILERELEASE
void zero(int tile);
void load(int tile, const void *from, size_t stride);
void store(int tile, void *to, size_t stride);
void multiplyBFloat16(int sums, int lhs, int rhs); // TDPBF16PS
void multiplyInt8(int sums, int lhs, int rhs);     // TDPBSSD

// How often any thread multiplied tiles so far.
uint64_t countProducts();

// VCVTNE2PS2BF16 by AVX512BW: CPUs with tiles have it, others with AVX-512 may not.
__attribute__((target("avx512f,avx512bw"), always_inline)) inline __m512bh
roundToBFloat16(__m512 high, __m512 low) {
  const auto round = [](__m512 x) __attribute__((target("avx512f,avx512bw"), always_inline)) {
    const __m512i bits = _mm512_castps_si512(x), upper = _mm512_srli_epi32(bits, 16);
    const __m512i odd = _mm512_and_si512(upper, _mm512_set1_epi32(1));
    __m512i rounded = _mm512_srli_epi32(
        _mm512_add_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(0x7fff)), odd), 16);
    const __mmask16 isNaN = _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);
    rounded = _mm512_mask_or_epi32(rounded, isNaN, upper, _mm512_set1_epi32(0x40));
    const __mmask16 isSmall = _mm512_testn_epi32_mask(bits, _mm512_set1_epi32(0x7f800000));
    rounded = _mm512_mask_and_epi32(rounded, isSmall, upper, _mm512_set1_epi32(0x8000));
    return _mm512_cvtepi32_epi16(rounded);
  };
  const __m512i both =
      _mm512_inserti64x4(_mm512_castsi256_si512(round(low)), round(high), /*upper half*/ 1);
  return reinterpret_cast<const __m512bh &>(both);
}

} // namespace mpc::tiles

#endif
