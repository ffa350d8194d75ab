// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A few rows by columns of 4-bit weights (ColumnWork): the weights that a block of a column can
// have are made once, and found by their numbers. For files compiled for AVX-512 alone: nothing
// here has external linkage.
#ifndef MPC_RUNTIME_DRIVERS_CPU_KERNELS_AVX512_COLUMNS_H
#define MPC_RUNTIME_DRIVERS_CPU_KERNELS_AVX512_COLUMNS_H

#include "runtime/drivers/cpu/kernels/avx512_panels.h"
#include "runtime/drivers/cpu/kernels/weight_kernel.h"

namespace mpc::rt {
namespace {

// (number - zero) * scale of all numbers, by their four bits as two's complement.
inline __m512 scaleNumbers(const float *adjustments) {
  const __m512 numbers = _mm512_set_ps(-1, -2, -3, -4, -5, -6, -7, -8, 7, 6, 5, 4, 3, 2, 1, 0);
  return _mm512_mul_ps(_mm512_sub_ps(numbers, _mm512_set1_ps(adjustments[0])),
                       _mm512_set1_ps(adjustments[panelColumns]));
}

// The weights of a step whose numbers are the low four bits of 32-bit lanes and those of their
// upper halves: first the ones with even indices, then the others.
struct Halves {
  __m512 even, odd;
};
inline Halves findHalves(__m512i words, __m512 table) {
  return {_mm512_permutexvar_ps(words, table),
          _mm512_permutexvar_ps(_mm512_srli_epi32(words, 16), table)};
}

inline Halves loadHalves(const float *from) {
  return {_mm512_loadu_ps(from), _mm512_loadu_ps(from + 16)};
}

// `Kind` says what a step of lhs is (Lhs), what all its columns share (Common), what is kept of a
// block (Table), and how numbers, in the low bits of 16-bit words, become weights that are
// multiplied.
template <typename Kind, int64_t rows> void multiplyColumns(const ColumnWork &work) {
  // This number of sums hides the latency of adding to one.
  constexpr int64_t columns = rows > 2 ? 4 : 8, parts = columnChunk / columnStep;
  static_assert(ColumnWork::columns % columns == 0);
  constexpr int64_t lineBytes = 64, chunkBytes = ColumnWork::columns * lineBytes;
  constexpr int64_t bytesAhead = 16 * chunkBytes; // of weights that come from memory
  using Element = typename Kind::Element;
  const auto *lhs = static_cast<const Element *>(work.lhs);
  for (int64_t column = 0; column < work.count; column += columns) {
    const int8_t *numbers = work.numbers + column * lineBytes;
    __m512 sums[rows][columns];
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < columns; ++c)
        sums[r][c] = _mm512_setzero_ps();
    typename Kind::Table tables[columns];
    // `part`: which numbers of each word, shifted by `shift`.
    auto addStep = [&](int64_t step, const int8_t *chunk, int part) __attribute__((always_inline)) {
      const __m128i shift = _mm_cvtsi32_si128(4 * part);
      const Element *from = lhs + step * columnStep;
      typename Kind::Lhs factors[rows];
      for (int64_t r = 0; r < rows; ++r)
        factors[r] = Kind::loadLhs(from + r * work.lhsStride);
      const typename Kind::Common common = Kind::loadCommon(work.factors, step);
      for (int64_t c = 0; c < columns; ++c) {
        const __m512i words = _mm512_srl_epi16(_mm512_load_si512(chunk + c * lineBytes), shift);
        const auto weights = Kind::find(words, tables[c], common);
        for (int64_t r = 0; r < rows; ++r)
          sums[r][c] = Kind::add(sums[r][c], factors[r], weights);
      }
    };
    for (int64_t first = 0, last; first < work.steps; first = last) {
      const float *block =
          work.adjustments + work.blocks[first * columnStep] * 2 * panelColumns + column;
      for (int64_t c = 0; c < columns; ++c)
        tables[c] = Kind::makeTable(block + c);
      last = first + work.blockSteps < work.steps ? first + work.blockSteps : work.steps;
      for (int64_t step = first; step < last;) {
        const int8_t *chunk = numbers + step / parts * chunkBytes;
        if (step % parts == 0 && last - step >= parts) {
          for (int64_t c = 0; c < columns; ++c)
            fetch<_MM_HINT_T0>(chunk + bytesAhead + c * lineBytes);
          addStep(step, chunk, 0);
          addStep(step + 1, chunk, 1);
          addStep(step + 2, chunk, 2);
          addStep(step + 3, chunk, 3);
          step += parts;
        } else {
          addStep(step, chunk, static_cast<int>(step % parts));
          ++step;
        }
      }
    }
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < columns && column + c < work.count; ++c)
        work.sums[r * work.sumStride + column + c] = _mm512_reduce_add_ps(sums[r][c]);
  }
}

template <typename Kind>
constexpr ColumnKernel columnKernel = {Kind::evenFirst,
                                       {multiplyColumns<Kind, 1>, multiplyColumns<Kind, 2>,
                                        multiplyColumns<Kind, 3>, multiplyColumns<Kind, 4>}};

} // namespace
} // namespace mpc::rt

#endif
