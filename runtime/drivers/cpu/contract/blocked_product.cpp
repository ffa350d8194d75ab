// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/drivers/cpu/contract/blocked_product_plan.h"
#include "runtime/drivers/cpu/kernels/line_fetcher.h"

#include <algorithm>
#include <emmintrin.h>

namespace mpc::rt {
namespace {

void storeAroundCaches(const uint8_t *from, uint8_t *to, int64_t bytes) {
  for (int64_t i = 0; i < bytes; i += 16)
    _mm_stream_si128(reinterpret_cast<__m128i *>(to + i),
                     _mm_load_si128(reinterpret_cast<const __m128i *>(from + i)));
}

} // namespace

void BlockedProduct::run(const Contraction &shape, const void *lhs, const void *rhs,
                         const void *packedRhs, const float *bias, const Result &result) {
  if (streamsWeights(shape, packedRhs != nullptr))
    return streamWeights(shape, lhs, rhs, packedRhs, bias, result);
  const PanelOperand left = lhsOf(shape, lhs), right = rhsOf(shape, rhs);
  const int64_t threads = threadsFor(shape);
  const Plan plan = prepare(shape, packedRhs != nullptr, result);
  const Grid &grid = plan.grid;
  const RhsPacking rhsPacking = plan.rhsPacking;
  const bool rhsFirst = rhsPacking == RhsPacking::first;
  const int64_t rowStrip = plan.rowStrip, columnStrip = plan.columnStrip;

  auto packStrip = [&](const PanelOperand &side, const Blocking &blocks, int64_t first,
                       int64_t count, Buffer &buffer, float *sums) {
    Panels panels = panelsOf(side, blocks, first, count);
    packAll(side, panels.firstPanel, panels.panels, buffer.data(), sums);
    panels.data = buffer.data();
    return panels;
  };

  std::atomic<uint32_t> most{0};
  int64_t packedRow = -1;
  Panels leftPanels,
      rightPanels{static_cast<const uint8_t *>(packedRhs), 0, ceilDivide(shape.n, kernel.columns)};
  for (int64_t column = 0; column < grid.columns.count; column += columnStrip) {
    const int64_t columns = std::min(columnStrip, grid.columns.count - column);
    if (rhsFirst)
      rightPanels = packStrip(right, grid.columns, column, columns, rhsPanels, result.rhsSums);
    for (int64_t row = 0; row < grid.rows.count; row += rowStrip) {
      const int64_t rows = std::min(rowStrip, grid.rows.count - row);
      if (plan.lhsFirst && packedRow != row) {
        leftPanels = packStrip(left, grid.rows, row, rows, lhsPanels, /*sums=*/nullptr);
        packedRow = row;
      }
      const int64_t blocks = shape.batch * rows * columns;
      team.forRange(threads, 1, [&](int64_t begin, int64_t end) {
        alignas(64) uint8_t state[microKernelStateBytes];
        kernel.enter(state);
        uint32_t own = 0;
        for (int64_t slot = begin; slot < end; ++slot)
          for (int64_t i = blocks * slot / threads; i < blocks * (slot + 1) / threads; ++i) {
            Block block{left, right, leftPanels, rightPanels, rhsPacking, i / (rows * columns)};
            block.row = (row + i % rows) * grid.rows.size;
            block.rows = std::min(grid.rows.size, shape.m - block.row);
            block.column = (column + i / rows % columns) * grid.columns.size;
            block.columns = std::min(grid.columns.size, shape.n - block.column);
            // Several blocks pack these columns; only the first one sums them.
            block.rhsSums = block.row == 0 ? result.rhsSums : nullptr;
            block.lhs.data = at(lhs, block.batch * shape.m * shape.k, left.dtype);
            if (rhs)
              block.rhs.data = at(rhs, block.batch * shape.k * shape.n, shape.rhs);
            if (plan.lhsAsItLies) {
              own = std::max(own, multiplyRows(shape, block, bias, result));
              continue;
            }
            Workspace &workspace = workspaces[static_cast<size_t>(slot)];
            if (rhsPacking == RhsPacking::once) {
              if (workspace.packedColumn == block.column)
                block.rhsPacking = RhsPacking::none;
              workspace.packedColumn = block.column;
              block.rhsPanels = {workspace.rhs.data(), block.column / kernel.columns,
                                 ceilDivide(block.columns, kernel.columns)};
            }
            multiplyBlock(block, workspace);
            own = std::max(own, finishBlock(shape, block, workspace, bias, result));
          }
        kernel.leave(state);
        _mm_sfence(); // before other threads read what was stored around the caches
        raise(most, own);
      });
    }
  }
  if (result.largest)
    *result.largest = most.load(std::memory_order_relaxed);
}

void BlockedProduct::runRows(const Contraction &shape, const void *lhs, const void *packedRhs,
                             const float *bias, void *out, int64_t begin, int64_t end) const {
  const Panels panels{static_cast<const uint8_t *>(packedRhs), 0, panelsOf(shape)};
  Block block{lhsOf(shape, lhs), rhsOf(shape, nullptr, isNarrow(shape)), {}, panels,
              RhsPacking::none,
              /*batch=*/0};
  block.columns = shape.n;
  alignas(64) uint8_t state[microKernelStateBytes];
  kernel.enter(state);
  for (block.row = begin; block.row < end; block.row += block.rows) {
    block.rows = std::min(kernel.blockRows, end - block.row);
    multiplyRows(shape, block, bias, {out});
  }
  kernel.leave(state);
}

uint32_t BlockedProduct::completeRow(const Contraction &shape, const Result &result, int64_t row,
                                     int64_t column, uint8_t *values, size_t count) const {
  // The result is one matrix. Blocks begin at a whole byte of bits, since panels are multiples of 8
  // columns.
  const int64_t byte = row * shape.maskRowBytes() + column / 8;
  if (result.bits.where)
    (shape.out == MPC_RT_FLOAT32 ? vectors.keepWhere32
                                 : vectors.keepWhere16)(result.bits.where + byte, values, count);
  if (result.bits.mask)
    vectors.maskPositive[shape.out](values, result.bits.mask + byte, count);
  return result.largest ? largestOf(shape.out, values, count) : 0;
}

uint32_t BlockedProduct::multiplyRows(const Contraction &shape, const Block &block,
                                      const float *bias, const Result &result) const {
  const PieceKernel &pieces = lanePieces(shape);
  const EpilogueRow finish = vectors.epilogue[shape.out][epilogueFlags(shape)];
  const int64_t steps = stepsOf(shape.k);
  alignas(cacheLine) float sums[mostPieceSums];
  uint32_t most = 0;
  PieceTile tile = {};
  tile.lhsStepBytes = pieces.laneBytes;
  tile.lastStepBytes =
      pieces.laneBytes - (steps * kernel.depth - shape.k) * elementBytes(shape.lhs);
  tile.sums = sums;
  tile.sumStride = pieces.columns;
  tile.first = true;
  Piece chunks[mostPieces];
  const int64_t outBytes = elementBytes(shape.out), rowBytes = shape.n * outBytes;
  const int64_t laneBytes = shape.k * elementBytes(shape.lhs);
  tile.pieces = chunks;
  for (int64_t column = 0; column < block.columns; column += pieces.columns) {
    tile.count = 0;
    for (int64_t first = 0; first < steps; first += kernel.steps)
      chunks[tile.count++] = {first * pieces.laneBytes,
                              chunkOf(block.rhs, block.rhsPanels, first / kernel.steps,
                                      (block.column + column) / pieces.columns),
                              std::min(kernel.steps, steps - first)};
    const int64_t columns = std::min(pieces.columns, block.columns - column);
    const auto *columnBias = bias ? bias + block.column + column : nullptr;
    auto *target = const_cast<uint8_t *>(
        at(result.out, (block.batch * shape.m + block.row) * shape.n + block.column + column,
           shape.out));
    const uint8_t *lane = at(block.lhs.data, block.row * shape.k, shape.lhs);
    for (int64_t row = 0; row < block.rows; row += pieces.rows) {
      const int64_t rows = std::min(pieces.rows, block.rows - row);
      const uint8_t *lanes[mostPieceRows];
      for (int64_t i = 0; i < rows; ++i, lane += laneBytes) {
        lanes[i] = lane;
        fetchLines(target + i * rowBytes, columns * outBytes);
      }
      tile.lanes = lanes;
      tile.rows = rows;
      pieces.multiply(tile);
      for (int64_t i = 0; i < rows; ++i, target += rowBytes) {
        finish(sums + i * pieces.columns, columnBias, target, static_cast<size_t>(columns));
        most = std::max(most, completeRow(shape, result, block.row + row + i, block.column + column,
                                          target, static_cast<size_t>(columns)));
      }
    }
  }
  for (int64_t row = 0; result.kernel && row < block.rows; ++row) {
    const int64_t first = (block.batch * shape.m + block.row + row) * shape.n + block.column;
    result.kernel->run(at(result.out, first, shape.out), shape.out, first, first + block.columns);
  }
  return most;
}

uint32_t BlockedProduct::finishBlock(const Contraction &shape, const Block &block,
                                     const Workspace &own, const float *bias,
                                     const Result &result) const {
  const EpilogueRow finish = vectors.epilogue[shape.out][epilogueFlags(shape)];
  const int64_t stride = ceilDivide(block.columns, kernel.columns) * kernel.columns + sumPadding;
  const auto *sums = reinterpret_cast<const float *>(own.sums.data());
  const auto count = static_cast<size_t>(block.columns);
  const int64_t rowBytes = block.columns * elementBytes(shape.out);
  const bool fits = rowBytes <= static_cast<int64_t>(maximalRowBytes);
  const bool isConsumed = result.kernel && result.isConsumed && fits && !shape.accumulate;
  const bool streams =
      !isConsumed && fits && streamsResult(shape, result.out) && rowBytes % cacheLine == 0;
  alignas(cacheLine) uint8_t staged[maximalRowBytes];
  uint32_t most = 0;
  for (int64_t row = 0; row < block.rows; ++row) {
    const int64_t first = (block.batch * shape.m + block.row + row) * shape.n + block.column;
    auto *target = isConsumed ? nullptr : const_cast<uint8_t *>(at(result.out, first, shape.out));
    uint8_t *finished = streams || isConsumed ? staged : target;
    finish(sums + row * stride, bias ? bias + block.column : nullptr, finished, count);
    most =
        std::max(most, completeRow(shape, result, block.row + row, block.column, finished, count));
    if (result.kernel)
      result.kernel->run(finished, shape.out, first, first + block.columns);
    if (streams)
      storeAroundCaches(staged, target, rowBytes);
  }
  return most;
}

} // namespace mpc::rt
