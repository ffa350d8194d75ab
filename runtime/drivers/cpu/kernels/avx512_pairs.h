// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// 4-bit numbers that lie in pairs (weight_kernel.h) as panels of bfloat16. For files compiled for
// AVX-512 with BF16 alone: nothing here has external linkage.
//
// Four bits in the significand of 2^e are the float32 `M + u`, where u is number + 8 and M what the
// bits' position makes of 2^e: no permutation looks numbers up, and positions need one shift in
// four.
// `(M + u) * scale - (M + 8 + zero) * scale` is (number - zero) * scale, exactly: M is at most 2^15
// and a scale of bfloat16 has 8 bits, so that no product has more than 24.
#ifndef MPC_RUNTIME_DRIVERS_CPU_KERNELS_AVX512_PAIRS_H
#define MPC_RUNTIME_DRIVERS_CPU_KERNELS_AVX512_PAIRS_H

#include "runtime/drivers/cpu/kernels/avx512_panels.h"
#include "runtime/drivers/cpu/kernels/weight_kernel.h"

namespace mpc::rt {
namespace {

// The bits where four bits become a number: the lowest ones that leave the product above exact.
constexpr int lowestBit = 8, positionsAtOnce = 3, significandBits = 23, exponentBias = 127;
constexpr int exponentOf(int position) { return significandBits - lowestBit - 4 * position; }

// The scales of 16 columns in one block, and what is taken off, for both numbers of a pair; eight
// columns a vector.
class PairScales {
public:
  PairScales(const float *zeros, const float *scales) {
    const __m512i low = _mm512_set_epi32(7, 7, 6, 6, 5, 5, 4, 4, 3, 3, 2, 2, 1, 1, 0, 0);
    const __m512 zero = _mm512_load_ps(zeros), scale = _mm512_load_ps(scales);
    for (int half = 0; half < 2; ++half) {
      const __m512i indices = _mm512_add_epi32(low, _mm512_set1_epi32(8 * half));
      scaleOf[half] = _mm512_permutexvar_ps(indices, scale);
      const __m512 own = _mm512_permutexvar_ps(indices, zero);
      for (int position = 0; position < positionsAtOnce; ++position) {
        const auto offset = static_cast<float>((1 << exponentOf(position)) + 8);
        lessOf[half][position] =
            _mm512_mul_ps(_mm512_add_ps(own, _mm512_set1_ps(offset)), scaleOf[half]);
      }
    }
  }
  // The numbers of `words` at that position, less the zero and scaled.
  __m512 weights(__m512i words, int half, int position) const {
    const __m512i bits = _mm512_set1_epi32(15 << (lowestBit + 4 * position));
    const __m512i power =
        _mm512_set1_epi32((exponentBias + exponentOf(position)) << significandBits);
    constexpr int andThenOr = 0xEA;
    const __m512i number = _mm512_ternarylogic_epi32(words, bits, power, andThenOr);
    return _mm512_fmsub_ps(_mm512_castsi512_ps(number), scaleOf[half], lessOf[half][position]);
  }

private:
  __m512 scaleOf[2], lessOf[2][positionsAtOnce];
};

inline __m512i asIntegers(__m512bh values) { return reinterpret_cast<const __m512i &>(values); }

// Pairs of weights rounded to bfloat16, each multiplied with what stands for the divisor of its row
// and rounded again.
inline __m512i multiplyPairs(__m512i pairs, const float *factors) {
  const __m512i upper = _mm512_set1_epi32(static_cast<int>(0xFFFF0000));
  const __m512i joined =
      _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6,
                       21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
  const __m512 even = _mm512_castsi512_ps(_mm512_slli_epi32(pairs, 16));
  const __m512 odd = _mm512_castsi512_ps(_mm512_and_si512(pairs, upper));
  return _mm512_permutexvar_epi16(
      joined, asIntegers(_mm512_cvtne2ps_pbh(_mm512_mul_ps(odd, _mm512_set1_ps(factors[1])),
                                             _mm512_mul_ps(even, _mm512_set1_ps(factors[0])))));
}

// A run of rows of 16 columns.
template <bool hasFactors>
void widenRun(const int8_t *numbers, const PairScales &scales, const float *factors, uint16_t *to) {
  __m512i words[2][3]; // by half, and by what has been shifted to the positions
  for (int half = 0; half < 2; ++half) {
    const __m512i line = _mm512_load_si512(numbers + 64 * half);
    words[half][0] = _mm512_slli_epi32(line, lowestBit);
    words[half][1] = line;
    words[half][2] = _mm512_srli_epi32(line, 4 * positionsAtOnce);
  }
  constexpr int parts = pairRun / 2, inFirst = lowestBit / 4;
  for (int part = 0; part < parts; ++part) {
    const int shifted = part < inFirst ? 0 : (part - inFirst) / positionsAtOnce + 1;
    const int position = part < inFirst ? part : (part - inFirst) % positionsAtOnce;
    const __m512i pairs =
        asIntegers(_mm512_cvtne2ps_pbh(scales.weights(words[1][shifted], 1, position),
                                       scales.weights(words[0][shifted], 0, position)));
    _mm512_store_si512(to + part * 2 * panelColumns,
                       hasFactors ? multiplyPairs(pairs, factors + 2 * part) : pairs);
  }
}

template <bool hasFactors> void widenPairs(const WeightRows &from, int64_t steps, void *panel) {
  auto *to = static_cast<uint16_t *>(panel);
  for (int64_t first = 0, last; first < from.rows; first = last) {
    for (last = first + pairRun; last < from.rows && from.blocks[last] == from.blocks[first];)
      last += pairRun;
    const float *zeros = from.adjustments + from.blocks[first] * 2 * panelColumns;
    for (int64_t v = 0; v < panelVectors; ++v) {
      const PairScales scales(zeros + 16 * v, zeros + panelColumns + 16 * v);
      for (int64_t row = first; row < last; row += pairRun)
        widenRun<hasFactors>(from.numbers + row * panelColumns / 2 + 128 * v, scales,
                             from.factors + row, to + row * panelColumns + 32 * v);
    }
  }
  // The last run may be longer than its rows; the rest of it is set to 0.
  if (from.rows % 2)
    for (int64_t v = 0; v < panelVectors; ++v) {
      uint16_t *step = to + (from.rows - 1) * panelColumns + 32 * v;
      _mm512_store_si512(step,
                         _mm512_and_si512(_mm512_load_si512(step), _mm512_set1_epi32(0xFFFF)));
    }
  for (int64_t step = (from.rows + 1) / 2; step < steps; ++step)
    for (int64_t v = 0; v < panelVectors; ++v)
      _mm512_store_si512(to + step * 2 * panelColumns + 32 * v, _mm512_setzero_si512());
}

} // namespace
} // namespace mpc::rt

#endif
