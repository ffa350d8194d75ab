// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// TDPBSSD multiplies tiles of signed bytes, 64 k a step, and adds to int32. Both operands lie as
// tiles: weights when they are packed, rows of lhs a few blocks at a time. A strip of 32 columns
// meets a block of rows in chunks of k that stay in the first-level cache, the sums in the result.
#include "runtime/drivers/cpu/kernels/int8_kernel.h"
#include "runtime/drivers/cpu/kernels/micro_kernel.h"
#include "runtime/drivers/cpu/kernels/tile_shapes.h"
#include "runtime/drivers/cpu/kernels/work_blocks.h"

#include <algorithm>
#include <cstring>
#include <immintrin.h>

#define MPC_AMX __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,amx-tile,amx-int8")))

namespace mpc::rt {
namespace {

constexpr int64_t lineBytes = TileShapes::lineBytes, rowsOfTile = TileShapes::mostRows;
constexpr int64_t columnsOfTile = 16, bytesOfTile = rowsOfTile * lineBytes;
// A step of either operand is two tiles: 32 rows, or 32 columns, of 64 k.
constexpr int64_t stepDepth = 64, stepBytes = 2 * bytesOfTile;
constexpr int64_t panelRows = 2 * rowsOfTile, stripColumns = 2 * columnsOfTile;
// This many k add up in one number of a row's sum.
constexpr int64_t depthOfLane = 4;

// A chunk of a strip is 32 KiB. Rows that a thread takes of a strip before another thread may take
// the next ones, and those that are packed at a time.
constexpr int64_t chunkSteps = 16, blockRows = 12 * panelRows, packedRows = 3 * blockRows;
// Weights come from the third-level cache or from memory.
constexpr int64_t bytesAhead = 4 * stepBytes;

int64_t stepsOf(const Contraction &c) { return ceilDivide(c.k, stepDepth); }
int64_t stripsOf(const Contraction &c) { return ceilDivide(c.n, stripColumns); }
int64_t panelBytes(const Contraction &c) { return stepsOf(c) * stepBytes; }

uint64_t weightBytes(const Contraction &c) {
  return static_cast<uint64_t>(stripsOf(c) * panelBytes(c));
}

// A tile of weights has 16 lines of four k, column by column.
void packWeights(ThreadTeam &team, const Contraction &c, const int8_t *rhs, int8_t *to) {
  team.forRange(stripsOf(c), 1, [&](int64_t begin, int64_t end) {
    for (int64_t strip = begin; strip < end; ++strip)
      for (int64_t k = 0; k < stepsOf(c) * stepDepth; ++k) {
        const int64_t line = k % stepDepth / depthOfLane;
        int8_t *step = to + strip * panelBytes(c) + k / stepDepth * stepBytes;
        for (int64_t column = 0; column < stripColumns; ++column) {
          const int64_t n = strip * stripColumns + column;
          int8_t &target = step[column / columnsOfTile * bytesOfTile + line * lineBytes +
                                column % columnsOfTile * depthOfLane + k % depthOfLane];
          target = k < c.k && n < c.n ? (c.transposeRhs ? rhs[n * c.k + k] : rhs[k * c.n + n]) : 0;
        }
      }
  });
}

uint64_t scratchBytes(const Contraction &c, unsigned /*threads*/) {
  return static_cast<uint64_t>(ceilDivide(std::min(c.m, packedRows), panelRows) * panelBytes(c));
}

// Rows that are not there stay what they are: no tile that is loaded has them.
void packRows(ThreadTeam &team, const Contraction &c, const int8_t *lhs, int64_t rows,
              uint8_t *to) {
  const int64_t whole = c.k / stepDepth, rest = c.k % stepDepth;
  team.forRange(rows, std::max<int64_t>((1 << 18) / c.k, 1), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const int8_t *from = lhs + row * c.k;
      uint8_t *line = to + row / panelRows * panelBytes(c) + row % panelRows * lineBytes;
      for (int64_t step = 0; step < whole; ++step, from += stepDepth, line += stepBytes)
        std::memcpy(line, from, lineBytes);
      if (rest) {
        std::memcpy(line, from, static_cast<size_t>(rest));
        std::memset(line + rest, 0, static_cast<size_t>(lineBytes - rest));
      }
    }
  });
}

// Up to 32 rows by a strip, over some steps of k.
struct Panel {
  const uint8_t *rows;
  const int8_t *weights;
  int64_t steps;
  int32_t *sums;
  int64_t stride; // elements
  bool first;     // sums begin with zero
  bool fetches;   // weights that come later
};

template <bool both> MPC_AMX void multiplyPanel(const Panel &panel) {
  int32_t *right = panel.sums + columnsOfTile;
  int32_t *lower = panel.sums + rowsOfTile * panel.stride;
  int32_t *lowerRight = lower + columnsOfTile;
  const int64_t stride = panel.stride * static_cast<int64_t>(sizeof(int32_t));
  if (panel.first) {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
  } else {
    _tile_loadd(0, panel.sums, stride);
    _tile_loadd(1, right, stride);
    if (both) {
      _tile_loadd(2, lower, stride);
      _tile_loadd(3, lowerRight, stride);
    }
  }
  const uint8_t *rows = panel.rows;
  const int8_t *weights = panel.weights;
  for (int64_t step = 0; step < panel.steps; ++step, rows += stepBytes, weights += stepBytes) {
    if (panel.fetches)
      for (int64_t line = 0; line < stepBytes; line += lineBytes)
        _mm_prefetch(reinterpret_cast<const char *>(weights + bytesAhead + line), _MM_HINT_T0);
    // The hint of TILELOADDT1 leaves the first-level cache to the weights.
    _tile_stream_loadd(4, rows, lineBytes);
    _tile_loadd(6, weights, lineBytes);
    _tile_loadd(7, weights + bytesOfTile, lineBytes);
    _tile_dpbssd(0, 4, 6);
    _tile_dpbssd(1, 4, 7);
    if (both) {
      _tile_stream_loadd(5, rows + bytesOfTile, lineBytes);
      _tile_dpbssd(2, 5, 6);
      _tile_dpbssd(3, 5, 7);
    }
  }
  _tile_stored(0, panel.sums, stride);
  _tile_stored(1, right, stride);
  if (both) {
    _tile_stored(2, lower, stride);
    _tile_stored(3, lowerRight, stride);
  }
}

// A block of packed rows by a strip.
struct Block {
  const uint8_t *rows;
  int64_t count;
  const int8_t *weights;
  int64_t steps;
  int32_t *out;
  int64_t outStride; // elements
  int64_t columns;   // that exist
};

MPC_AMX void multiplyRows(const Block &block, int64_t first, int64_t step, int64_t steps) {
  const int64_t count = std::min(panelRows, block.count - first);
  const bool isWhole = count == panelRows && block.columns == stripColumns;
  const bool both = count > rowsOfTile;
  int32_t *out = block.out + first * block.outStride;
  // Columns that are not there have no element in the result.
  alignas(64) int32_t own[panelRows * stripColumns];
  const auto bytes = static_cast<size_t>(block.columns) * sizeof(int32_t);
  if (!isWhole) {
    const TileShapes shapes(std::min(count, rowsOfTile), count - rowsOfTile);
    _tile_loadconfig(&shapes);
    if (step)
      for (int64_t row = 0; row < count; ++row)
        std::memcpy(own + row * stripColumns, out + row * block.outStride, bytes);
  }
  const Panel panel = {block.rows + first * block.steps * lineBytes + step * stepBytes,
                       block.weights + step * stepBytes,
                       steps,
                       isWhole ? out : own,
                       isWhole ? block.outStride : stripColumns,
                       /*first=*/step == 0,
                       /*fetches=*/first == 0};
  (both ? multiplyPanel<true> : multiplyPanel<false>)(panel);
  if (!isWhole) {
    for (int64_t row = 0; row < count; ++row)
      std::memcpy(out + row * block.outStride, own + row * stripColumns, bytes);
    const TileShapes shapes;
    _tile_loadconfig(&shapes);
  }
}

void multiply(ThreadTeam &team, const Contraction &c, const int8_t *lhs, const int8_t *weights,
              void *scratch, int32_t *out) {
  auto *packed = static_cast<uint8_t *>(scratch);
  for (int64_t top = 0; top < c.m; top += packedRows) {
    const int64_t rows = std::min(packedRows, c.m - top), blocks = ceilDivide(rows, blockRows);
    packRows(team, c, lhs + top * c.k, rows, packed);
    const int64_t products = std::min(rows, blockRows) * c.k * stripColumns;
    const int64_t grain = std::max<int64_t>((1 << 20) / products, 1);
    // Strips follow each other within a block, whose rows stay in the second-level cache.
    team.forRange(blocks * stripsOf(c), grain, [&](int64_t begin, int64_t end) {
      alignas(64) uint8_t before[microKernelStateBytes];
      amxBFloat16.enter(before);
      for (int64_t index = begin; index < end; ++index) {
        const int64_t first = index / stripsOf(c) * blockRows, strip = index % stripsOf(c);
        const int64_t column = strip * stripColumns;
        const Block block = {packed + first / panelRows * panelBytes(c),
                             std::min(blockRows, rows - first),
                             weights + strip * panelBytes(c),
                             stepsOf(c),
                             out + (top + first) * c.n + column,
                             c.n,
                             std::min(stripColumns, c.n - column)};
        // Weights that one panel reads need not stay.
        const int64_t chunk = block.count <= panelRows ? block.steps : chunkSteps;
        for (int64_t step = 0; step < block.steps; step += chunk)
          for (int64_t row = 0; row < block.count; row += panelRows)
            multiplyRows(block, row, step, std::min(chunk, block.steps - step));
      }
      amxBFloat16.leave(before);
    });
  }
}

} // namespace

// 4096 and more rows of 64 to 512 numbers by 128 and 256 columns take oneDNN 0.63 to 0.75 of the
// time, 1024 rows by 4096 columns are a draw (Emerald Rapids).
const Int8Kernel amxInt8 = {"amx_int8",
                            weightBytes,
                            packWeights,
                            scratchBytes,
                            multiply,
                            /*fewestColumns=*/257,
                            /*pieces=*/nullptr};

} // namespace mpc::rt
