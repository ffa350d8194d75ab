// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Numbers of lhs are made 128 larger where they are read, and 128 times the sum of each column of
// the weights, which stands behind its strip, is taken off where sums begin. A strip of 64 columns
// stays in the second-level cache while all rows meet it, six at a time in registers.
#include "runtime/drivers/cpu/kernels/int8_kernel.h"
#include "runtime/drivers/cpu/kernels/vnni_tiles.h"

#include <algorithm>
#include <cstring>

namespace mpc::rt {
namespace {

constexpr int64_t panelRows = Vnni::panelRows, stepRows = Vnni::stepRows,
                  stripColumns = Vnni::stripColumns, stepBytes = stripColumns * stepRows;
// Rows that a thread takes of a strip before another thread may take the next ones.
constexpr int64_t blockRows = 8 * panelRows;
constexpr auto shift = static_cast<int32_t>(Vnni::shift);
// Behind the steps of a strip: where the sums of its columns begin.
constexpr int64_t startBytes = stripColumns * static_cast<int64_t>(sizeof(int32_t));

int64_t stepsOf(const Contraction &c) { return ceilDivide(c.k, stepRows); }
int64_t stripsOf(const Contraction &c) { return ceilDivide(c.n, stripColumns); }
int64_t stripBytesOf(const Contraction &c) { return stepsOf(c) * stepBytes + startBytes; }

// Up to panelRows rows of lhs by one strip; `To` takes the sums.
template <typename To> struct Tile {
  const int8_t *lhs;
  int64_t k;
  const int8_t *weights;
  const int32_t *starts;
  int64_t columns;
  To to;
};

// Four numbers of lhs, of which `count` are there.
int32_t readStep(const int8_t *from, int64_t count) {
  int32_t four = 0;
  std::memcpy(&four, from, static_cast<size_t>(count));
  return four;
}

// Weights come from the third-level cache or from memory, in one line after the other.
constexpr int64_t bytesAhead = 16 * stepBytes;

// The loops are unrolled for the sums to stay in registers.
template <int rows, int vectors, typename To>
MPC_INT8_TARGET void multiplyTile(const Tile<To> &tile) {
  const int64_t whole = tile.k / stepRows, rest = tile.k % stepRows;
  const __m512i toUnsigned = _mm512_set1_epi8(static_cast<char>(shift));
  __m512i sums[rows][vectors], starts[vectors];
#pragma clang loop unroll(full)
  for (int v = 0; v < vectors; ++v)
    starts[v] = _mm512_loadu_si512(tile.starts + 16 * v);
  beginSums<Vnni>(tile.to, tile.columns, starts, sums);
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
      const __m512i factors = _mm512_xor_si512(_mm512_set1_epi32(four), toUnsigned);
#pragma clang loop unroll(full)
      for (int v = 0; v < vectors; ++v)
        sums[r][v] = _mm512_dpbusd_epi32(sums[r][v], factors, row[v]);
    }
  }
#pragma clang loop unroll(full)
  for (int r = 0; r < rows; ++r) {
    // If nothing is left, zeros are multiplied by the step at the start of the weights. Weights are
    // zeros where lhs has no more numbers.
    const int8_t *last = rest ? weights : tile.weights;
    const int32_t four = rest ? readStep(tile.lhs + r * tile.k + whole * stepRows, rest) : 0;
    const __m512i factors =
        rest ? _mm512_xor_si512(_mm512_set1_epi32(four), toUnsigned) : _mm512_setzero_si512();
#pragma clang loop unroll(full)
    for (int v = 0; v < vectors; ++v)
      sums[r][v] = _mm512_dpbusd_epi32(sums[r][v], factors, _mm512_loadu_si512(last + 64 * v));
  }
  tile.to.finish(tile.columns, sums);
}

template <typename To> struct MultiplyTiles {
  template <int rows, int vectors> struct Of {
    static void run(const Tile<To> &tile) { multiplyTile<rows, vectors>(tile); }
  };
};

// The rows [first, last) by a strip.
template <typename To>
void multiplyStrip(const Contraction &c, const int8_t *lhs, const int8_t *weights, int64_t strip,
                   int64_t first, int64_t last, const To &to) {
  const int64_t column = strip * stripColumns, columns = std::min(stripColumns, c.n - column);
  const int8_t *own = weights + strip * stripBytesOf(c);
  const auto *starts = reinterpret_cast<const int32_t *>(own + stepsOf(c) * stepBytes);
  for (int64_t row = first; row < last; row += panelRows)
    TileTable<Vnni, MultiplyTiles<To>::template Of>::of(std::min(panelRows, last - row), columns)(
        {lhs + row * c.k, c.k, own, starts, columns, to.from(row, column)});
}

// Less 128 times the sum of each column of the strip; it wraps around as sums do.
MPC_INT8_TARGET void findStarts(const int8_t *strip, int64_t steps, int32_t *starts) {
  constexpr int vectors = stripColumns / 16;
  const __m512i ones = _mm512_set1_epi8(1);
  __m512i sums[vectors] = {};
  for (int64_t step = 0; step < steps; ++step)
    for (int v = 0; v < vectors; ++v)
      sums[v] =
          _mm512_dpbusd_epi32(sums[v], ones, _mm512_loadu_si512(strip + step * stepBytes + 64 * v));
  for (int v = 0; v < vectors; ++v)
    _mm512_storeu_si512(starts + 16 * v, _mm512_mullo_epi32(sums[v], _mm512_set1_epi32(-shift)));
}

uint64_t weightBytes(const Contraction &c) {
  return static_cast<uint64_t>(stripsOf(c) * stripBytesOf(c));
}

// Four numbers of each column of a strip, which lie beside each other; columns and k that do not
// exist are zeros.
void packStep(const Contraction &c, const int8_t *rhs, int64_t k, int64_t column, int8_t *to) {
  const int64_t columns = std::min(stripColumns, c.n - column), count = std::min(stepRows, c.k - k);
  int32_t step[stripColumns];
  if (c.transposeRhs) {
    for (int64_t i = 0; i < columns; ++i)
      step[i] = readStep(rhs + (column + i) * c.k + k, count);
  } else {
    static const int8_t zeros[stripColumns] = {};
    const int8_t *rows[stepRows];
    for (int64_t i = 0; i < stepRows; ++i)
      rows[i] = i < count ? rhs + (k + i) * c.n + column : zeros;
    const auto byte = [&](int64_t row, int64_t i) {
      return uint32_t{static_cast<uint8_t>(rows[row][i])} << 8 * row;
    };
    for (int64_t i = 0; i < columns; ++i)
      step[i] = static_cast<int32_t>(byte(0, i) | byte(1, i) | byte(2, i) | byte(3, i));
  }
  std::fill(step + columns, step + stripColumns, 0);
  std::memcpy(to, step, sizeof step);
}

void packWeights(ThreadTeam &team, const Contraction &c, const int8_t *rhs, int8_t *to) {
  const int64_t steps = stepsOf(c);
  team.forRange(stripsOf(c), 1, [&](int64_t begin, int64_t end) {
    for (int64_t strip = begin; strip < end; ++strip) {
      int8_t *own = to + strip * stripBytesOf(c);
      for (int64_t step = 0; step < steps; ++step)
        packStep(c, rhs, step * stepRows, strip * stripColumns, own + step * stepBytes);
      findStarts(own, steps, reinterpret_cast<int32_t *>(own + steps * stepBytes));
    }
  });
}

uint64_t scratchBytes(const Contraction & /*c*/, unsigned /*threads*/) { return 0; }

template <typename To>
void multiplyBlocks(ThreadTeam &team, const Contraction &c, const int8_t *lhs,
                    const int8_t *weights, const To &to) {
  const int64_t blocks = ceilDivide(c.m, blockRows);
  const int64_t products = std::min(c.m, blockRows) * c.k * stripColumns;
  const int64_t grain = std::max<int64_t>((1 << 18) / products, 1);
  team.forRange(stripsOf(c) * blocks, grain, [&](int64_t begin, int64_t end) {
    for (int64_t index = begin; index < end; ++index) {
      const int64_t first = index % blocks * blockRows;
      multiplyStrip(c, lhs, weights, index / blocks, first, std::min(first + blockRows, c.m), to);
    }
  });
}

void multiply(ThreadTeam &team, const Contraction &c, const int8_t *lhs, const int8_t *weights,
              void * /*scratch*/, int32_t *out) {
  multiplyBlocks(team, c, lhs, weights, StoredSums<Vnni>{out, c.n});
}

void multiplyAndRequantize(ThreadTeam &team, const Contraction &c, const int8_t *lhs,
                           const int8_t *weights, void * /*scratch*/, const RequantizedSums &to) {
  multiplyBlocks(team, c, lhs, weights, RequantizedTile<Vnni>(to));
}

} // namespace

const Int8Kernel vnniInt8 = {
    "vnni_int8",           weightBytes,          packWeights, scratchBytes, multiply,
    /*fewestColumns=*/0,   &vnniPieces,
    /*packsQuickly=*/true, multiplyAndRequantize};

} // namespace mpc::rt
