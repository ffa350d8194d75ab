// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// VPDPBUSD multiplies unsigned bytes by signed ones: weights are kept 128 larger, and 128 times the
// sum of each row of lhs is taken off where its sums begin. A strip of 64 columns stays in the
// second-level cache while all rows meet it, six at a time in registers.
#include "runtime/drivers/cpu/kernels/int8_kernel.h"
#include "runtime/drivers/cpu/kernels/vnni_tiles.h"

#include <algorithm>
#include <cstring>

namespace mpc::rt {
namespace {

using vnni::panelRows, vnni::stepBytes, vnni::stepRows, vnni::stripColumns;
// Rows that a thread takes of a strip before another thread may take the next ones.
constexpr int64_t blockRows = 8 * panelRows;
constexpr int32_t shift = 128;

int64_t stepsOf(const Contraction &c) { return ceilDivide(c.k, stepRows); }
int64_t stripsOf(const Contraction &c) { return ceilDivide(c.n, stripColumns); }

// Up to panelRows rows of lhs by one strip.
struct Tile {
  const int8_t *lhs;
  int64_t k;
  const int8_t *weights;
  const int32_t *rowSums;
  int32_t *out;
  int64_t outStride, columns;
};

// Four numbers of lhs, of which `count` are there.
int32_t readStep(const int8_t *from, int64_t count) {
  int32_t four = 0;
  std::memcpy(&four, from, static_cast<size_t>(count));
  return four;
}

// A row's sums start at this number, which takes off what the shift of the weights adds; it wraps
// around as they do.
int32_t lessShift(int32_t rowSum) {
  return static_cast<int32_t>(0u - uint32_t{shift} * static_cast<uint32_t>(rowSum));
}

// Weights come from the third-level cache or from memory, in one line after the other.
constexpr int64_t bytesAhead = 16 * stepBytes;

// The loops are unrolled for the sums to stay in registers.
template <int rows, int vectors> MPC_VNNI void multiplyTile(const Tile &tile) {
  const int64_t whole = tile.k / stepRows, rest = tile.k % stepRows;
  __m512i sums[rows][vectors];
#pragma clang loop unroll(full)
  for (int r = 0; r < rows; ++r)
#pragma clang loop unroll(full)
    for (int v = 0; v < vectors; ++v)
      sums[r][v] = _mm512_set1_epi32(lessShift(tile.rowSums[r]));
  const int8_t *weights = tile.weights;
  for (int64_t step = 0; step < whole; ++step, weights += stepBytes) {
    __m512i row[vectors];
#pragma clang loop unroll(full)
    for (int v = 0; v < vectors; ++v) {
      _mm_prefetch(reinterpret_cast<const char *>(weights + bytesAhead + 64 * v), _MM_HINT_T0);
      row[v] = _mm512_loadu_si512(weights + 64 * v);
    }
#pragma clang loop unroll(full)
    for (int r = 0; r < rows; ++r) {
      int32_t four;
      std::memcpy(&four, tile.lhs + r * tile.k + step * stepRows, sizeof(four));
      const __m512i factors = _mm512_set1_epi32(four);
#pragma clang loop unroll(full)
      for (int v = 0; v < vectors; ++v)
        sums[r][v] = _mm512_dpbusd_epi32(sums[r][v], row[v], factors);
    }
  }
#pragma clang loop unroll(full)
  for (int r = 0; r < rows; ++r) {
    // If nothing is left, zeros are multiplied by the step at the start of the weights.
    const int8_t *last = rest ? weights : tile.weights;
    const int32_t four = rest ? readStep(tile.lhs + r * tile.k + whole * stepRows, rest) : 0;
    const __m512i factors = _mm512_set1_epi32(four);
#pragma clang loop unroll(full)
    for (int v = 0; v < vectors; ++v) {
      sums[r][v] = _mm512_dpbusd_epi32(sums[r][v], _mm512_loadu_si512(last + 64 * v), factors);
      vnni::store(tile.out + r * tile.outStride, tile.columns, v, sums[r][v]);
    }
  }
}

template <int rows, int vectors> struct MultiplyTile {
  static void run(const Tile &tile) { multiplyTile<rows, vectors>(tile); }
};

// Products with ones.
MPC_VNNI int32_t sumOf(const int8_t *values, int64_t count) {
  constexpr int64_t width = 64;
  const __m512i ones = _mm512_set1_epi8(1);
  __m512i sums = _mm512_setzero_si512();
  for (; count >= width; count -= width, values += width)
    sums = _mm512_dpbusd_epi32(sums, ones, _mm512_loadu_si512(values));
  const __mmask64 rest = (uint64_t{1} << count) - 1;
  sums = _mm512_dpbusd_epi32(sums, ones, _mm512_maskz_loadu_epi8(rest, values));
  return _mm512_reduce_add_epi32(sums);
}

uint64_t weightBytes(const Contraction &c) {
  return static_cast<uint64_t>(stripsOf(c) * stepsOf(c) * stepBytes);
}

int32_t shifted(uint32_t four) { return static_cast<int32_t>(four ^ 0x80808080u); }

// Four numbers of each column of a strip, which lie beside each other; columns and k that do not
// exist are zeros before they are shifted.
void packStep(const Contraction &c, const int8_t *rhs, int64_t k, int64_t column, int8_t *to) {
  const int64_t columns = std::min(stripColumns, c.n - column), count = std::min(stepRows, c.k - k);
  int32_t step[stripColumns];
  if (c.transposeRhs) {
    for (int64_t i = 0; i < columns; ++i)
      step[i] = shifted(static_cast<uint32_t>(readStep(rhs + (column + i) * c.k + k, count)));
  } else {
    static const int8_t zeros[stripColumns] = {};
    const int8_t *rows[stepRows];
    for (int64_t i = 0; i < stepRows; ++i)
      rows[i] = i < count ? rhs + (k + i) * c.n + column : zeros;
    const auto byte = [&](int64_t row, int64_t i) {
      return uint32_t{static_cast<uint8_t>(rows[row][i])} << 8 * row;
    };
    for (int64_t i = 0; i < columns; ++i)
      step[i] = shifted(byte(0, i) | byte(1, i) | byte(2, i) | byte(3, i));
  }
  std::fill(step + columns, step + stripColumns, shifted(0));
  std::memcpy(to, step, sizeof step);
}

void packWeights(ThreadTeam &team, const Contraction &c, const int8_t *rhs, int8_t *to) {
  const int64_t steps = stepsOf(c);
  team.forRange(stripsOf(c), 1, [&](int64_t begin, int64_t end) {
    for (int64_t strip = begin; strip < end; ++strip)
      for (int64_t step = 0; step < steps; ++step)
        packStep(c, rhs, step * stepRows, strip * stripColumns,
                 to + (strip * steps + step) * stepBytes);
  });
}

// The sum of each row.
uint64_t scratchBytes(const Contraction &c) { return static_cast<uint64_t>(c.m) * sizeof(int32_t); }

void multiply(ThreadTeam &team, const Contraction &c, const int8_t *lhs, const int8_t *weights,
              void *scratch, int32_t *out) {
  auto *rowSums = static_cast<int32_t *>(scratch);
  team.forRange(c.m, std::max<int64_t>((1 << 18) / c.k, 1), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row)
      rowSums[row] = sumOf(lhs + row * c.k, c.k);
  });
  const int64_t blocks = ceilDivide(c.m, blockRows), stripBytes = stepsOf(c) * stepBytes;
  const int64_t products = std::min(c.m, blockRows) * c.k * stripColumns;
  const int64_t grain = std::max<int64_t>((1 << 18) / products, 1);
  team.forRange(stripsOf(c) * blocks, grain, [&](int64_t begin, int64_t end) {
    for (int64_t index = begin; index < end; ++index) {
      const int64_t strip = index / blocks, first = index % blocks * blockRows;
      const int64_t last = std::min(first + blockRows, c.m), column = strip * stripColumns;
      const int64_t columns = std::min(stripColumns, c.n - column);
      for (int64_t row = first; row < last; row += panelRows)
        vnni::TileTable<MultiplyTile>::of(std::min(panelRows, last - row), columns)(
            {lhs + row * c.k, c.k, weights + strip * stripBytes, rowSums + row,
             out + row * c.n + column, c.n, columns});
    }
  });
}

} // namespace

const Int8Kernel vnniInt8 = {"vnni_int8",          weightBytes, packWeights, scratchBytes, multiply,
                             /*fewestColumns=*/0,  &vnniPieces,
                             /*packsQuickly=*/true};

} // namespace mpc::rt
