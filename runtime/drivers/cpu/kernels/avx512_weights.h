// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tiles of integer weights as vectors of float32. For files compiled for AVX-512 alone: nothing
// here has external linkage.
#ifndef MPC_RUNTIME_DRIVERS_CPU_KERNELS_AVX512_WEIGHTS_H
#define MPC_RUNTIME_DRIVERS_CPU_KERNELS_AVX512_WEIGHTS_H

#include "runtime/drivers/cpu/kernels/avx512_panels.h"
#include "runtime/drivers/cpu/kernels/weight_kernel.h"

namespace mpc::rt {
namespace {

// Numbers of 16 columns. Of int4 a byte has those of two columns that are 32 apart.
template <bool isInt4> __m512 loadNumbers(const int8_t *row, int64_t vector) {
  const auto *bytes = reinterpret_cast<const __m128i *>(row) + (isInt4 ? vector % 2 : vector);
  if (!isInt4)
    return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128(bytes)));
  // The permutation looks at the low four bits alone.
  const __m512 table = _mm512_set_ps(-1, -2, -3, -4, -5, -6, -7, -8, 7, 6, 5, 4, 3, 2, 1, 0);
  const __m512i halves = _mm512_cvtepu8_epi32(_mm_loadu_si128(bytes));
  return _mm512_permutexvar_ps(vector < 2 ? halves : _mm512_srli_epi32(halves, 4), table);
}

template <bool isInt4> constexpr int64_t rowBytes = isInt4 ? panelColumns / 2 : panelColumns;

// Numbers stay, are multiplied by a scale, or are multiplied by it, rounded by `Round` and then
// divided by a divisor, or multiplied with its stand-in.
enum class Adjust { none, scale, divide, multiply };

struct KeepFloat32 {
  static __m512 round(__m512 x) { return x; }
};

// Vectors of weights of rows of a tile.
template <bool isInt4, Adjust adjust, typename Round = KeepFloat32> class Adjusted {
public:
  explicit Adjusted(const WeightRows &from) : from(from) {}
  // Loads the zeros and scales of `block`, which hold for all rows until the next call.
  void load(int32_t block) {
    if (adjust == Adjust::none)
      return;
    const float *first = from.adjustments + block * 2 * panelColumns;
    for (int64_t v = 0; v < panelVectors; ++v) {
      zero[v] = _mm512_load_ps(first + 16 * v);
      scale[v] = _mm512_load_ps(first + panelColumns + 16 * v);
    }
  }
  __m512 weights(int64_t row, int64_t v) const {
    const __m512 numbers = loadNumbers<isInt4>(from.numbers + row * rowBytes<isInt4>, v);
    if (adjust == Adjust::none)
      return numbers;
    const __m512 scaled = _mm512_mul_ps(_mm512_sub_ps(numbers, zero[v]), scale[v]);
    if (adjust == Adjust::scale)
      return scaled;
    const __m512 rounded = Round::round(scaled), factor = _mm512_set1_ps(from.factors[row]);
    return adjust == Adjust::divide ? _mm512_div_ps(rounded, factor)
                                    : _mm512_mul_ps(rounded, factor);
  }

private:
  const WeightRows &from;
  static constexpr int64_t kept = adjust == Adjust::none ? 1 : panelVectors;
  __m512 zero[kept], scale[kept];
};

// Calls visit(first, last) for runs of rows of one block, whose adjustments are loaded.
template <bool isInt4, Adjust adjust, typename Round, typename Visit>
void forRuns(const WeightRows &from, Adjusted<isInt4, adjust, Round> &adjusted,
             const Visit &visit) {
  int64_t last = from.rows;
  for (int64_t first = 0; first < from.rows; first = last) {
    if (adjust != Adjust::none)
      for (last = first + 1; last < from.rows && from.blocks[last] == from.blocks[first];)
        ++last;
    adjusted.load(adjust == Adjust::none ? 0 : from.blocks[first]);
    visit(first, last);
  }
}

} // namespace
} // namespace mpc::rt

#endif
