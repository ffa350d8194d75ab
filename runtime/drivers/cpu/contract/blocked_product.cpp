// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/drivers/cpu/contract/blocked_product_plan.h"
#include "runtime/drivers/cpu/kernels/line_fetcher.h"

#include <algorithm>
#include <emmintrin.h>
#include <optional>

namespace mpc::rt {
void BlockedProduct::run(const Contraction &shape, const void *lhs, const void *rhs,
                         const void *packedRhs, const float *bias, const Result &result) {
  if (packedRhs && isOfShortRows(shape) && areManyRows(kernel, shape))
    return multiplyShortRows(shape, lhs, packedRhs, bias, result);
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
  const int64_t sumElements = sumElementsOf(grid);
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
      team.shareOut(blocks, threads, [&](Turns &turns) {
        alignas(64) uint8_t state[microKernelStateBytes];
        kernel.enter(state);
        uint32_t own = 0;
        // Rows that go around the caches do so while the next block is multiplied: memory takes
        // them more slowly than they are finished (docs/decisions/0119).
        std::optional<RowFinisher> finisher;
        const auto finishAll = [&] {
          if (finisher)
            own = std::max(own, finisher->finishAll());
          finisher.reset();
        };
        int64_t turn = 0;
        for (int64_t i; turns.take(i);) {
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
          Workspace &workspace = workspaces[turns.slot()];
          if (rhsPacking == RhsPacking::once) {
            // The first block of a column may come last.
            if (workspace.packedColumn == block.column && !block.rhsSums)
              block.rhsPacking = RhsPacking::none;
            workspace.packedColumn = block.column;
            block.rhsPanels = {workspace.rhs.data(), block.column / kernel.columns,
                               ceilDivide(block.columns, kernel.columns)};
          }
          float *sums = workspace.sums.floats() + turn * sumElements;
          turn = (turn + 1) % plan.sumBlocks;
          multiplyBlock(block, workspace, sums, finisher ? &*finisher : nullptr);
          finishAll();
          finisher.emplace(*this, shape, block, sums, bias, result);
          if (!finisher->streams())
            finishAll();
        }
        finishAll();
        kernel.leave(state);
        _mm_sfence(); // before other threads read what was stored around the caches
        raise(most, own);
      });
    }
  }
  if (result.largest)
    *result.largest = most.load(std::memory_order_relaxed);
}

// Threads that have no rows of their own share the columns: weights come from a core's second-level
// cache, which takes longer than to begin and end a loop while all are awake.
static bool sharesColumns(const Contraction &shape, int64_t rows) {
  constexpr int64_t fewestProducts = 1 << 15, mostRows = 8;
  return rows == shape.m && rows <= mostRows && shape.m * shape.n * shape.k >= fewestProducts;
}

// Rows that are made ready for all panels, in the first-level cache.
static constexpr int64_t bytesOfPreparedRows = 24 << 10;
static_assert(bytesOfPreparedRows >= 2 * longestRow);

// Whole tiles of them, or less than one.
static int64_t preparedRowsAtOnce(const MicroKernel &kernel, const Contraction &shape) {
  const int64_t laneBytes = kernel.lhsCopies * shape.k * static_cast<int64_t>(sizeof(float));
  const int64_t rows = bytesOfPreparedRows / laneBytes, unit = kernel.pieces[0]->rows;
  return rows < unit ? rows : rows / unit * unit;
}

void BlockedProduct::runRows(const Contraction &shape, const void *lhs, const void *packedRhs,
                             const float *bias, void *out, int64_t begin, int64_t end) const {
  const int64_t panels = panelsOf(shape), width = lanePieces(shape).columns;
  const Panels weights{static_cast<const uint8_t *>(packedRhs), 0, panels};
  const auto multiply = [&](int64_t firstPanel, int64_t lastPanel) {
    Block block{lhsOf(shape, lhs), rhsOf(shape, nullptr, isNarrow(shape)), {}, weights,
                RhsPacking::none,
                /*batch=*/0};
    block.column = firstPanel * width;
    block.columns = std::min(lastPanel * width, shape.n) - block.column;
    alignas(64) uint8_t state[microKernelStateBytes];
    kernel.enter(state);
    // One panel is multiplied as soon as rows are prepared, but for those that have to be.
    const bool isRead = mayReadLhsAsItLies(shape);
    block.preparesLanes = mayPrepareLanes(kernel, shape) && !(isRead && block.columns <= width);
    const int64_t mostRows =
        block.preparesLanes ? preparedRowsAtOnce(kernel, shape) : kernel.blockRows;
    for (block.row = begin; block.row < end; block.row += block.rows) {
      block.rows = std::min(mostRows, end - block.row);
      multiplyRows(shape, block, bias, {out});
    }
    kernel.leave(state);
  };
  if (sharesColumns(shape, end - begin))
    team.forRange(panels, team.grainOfOneChunk(panels), multiply);
  else
    multiply(0, panels);
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
  // Nothing is asked of rows beside bias and relu.
  const bool isComplete = !result.bits.where && !result.bits.mask && !result.largest;
  uint8_t *rowsAt[mostPieceRows];
  FinishedRows finished = {rowsAt, 0, nullptr, shape.relu};
  if (pieces.finishedDtype == static_cast<int>(shape.out) && isComplete && !shape.accumulate)
    tile.finished = &finished;
  const int64_t outBytes = elementBytes(shape.out), rowBytes = shape.n * outBytes;
  const uint8_t *lanesOfBlock = at(block.lhs.data, block.row * shape.k, shape.lhs);
  int64_t laneBytes = shape.k * elementBytes(shape.lhs);
  auto multiply = pieces.multiply;
  alignas(cacheLine) float prepared[bytesOfPreparedRows / int64_t{sizeof(float)}];
  if (block.preparesLanes) {
    kernel.prepareLanes[shape.lhs](lanesOfBlock, block.rows * shape.k, prepared);
    lanesOfBlock = reinterpret_cast<const uint8_t *>(prepared);
    tile.lhsStepBytes = kernel.lhsCopies * pieces.laneBytes;
    tile.lastStepBytes = pieces.laneBytes;
    laneBytes = shape.k * tile.lhsStepBytes;
    if (kernel.lhsCopies > 1)
      multiply = pieces.multiplyCopies;
  }
  tile.pieces = chunks;
  const EvenTiles tiles(block.rows, pieces.rows);
  for (int64_t column = 0; column < block.columns; column += pieces.columns) {
    tile.count = 0;
    for (int64_t first = 0; first < steps; first += kernel.steps)
      chunks[tile.count++] = {first * tile.lhsStepBytes,
                              chunkOf(block.rhs, block.rhsPanels, first / kernel.steps,
                                      (block.column + column) / pieces.columns),
                              std::min(kernel.steps, steps - first)};
    const int64_t columns = std::min(pieces.columns, block.columns - column);
    const auto *columnBias = bias ? bias + block.column + column : nullptr;
    finished.columns = columns;
    finished.bias = shape.hasBias ? columnBias : nullptr;
    auto *target = const_cast<uint8_t *>(
        at(result.out, (block.batch * shape.m + block.row) * shape.n + block.column + column,
           shape.out));
    const uint8_t *lane = lanesOfBlock;
    for (int64_t row = 0, index = 0; index < tiles.count(); row += tiles.rowsOf(index++)) {
      const int64_t rows = tiles.rowsOf(index);
      const uint8_t *lanes[mostPieceRows];
      for (int64_t i = 0; i < rows; ++i, lane += laneBytes) {
        lanes[i] = lane;
        rowsAt[i] = target + i * rowBytes;
        fetchLines(rowsAt[i], columns * outBytes);
      }
      tile.lanes = lanes;
      tile.rows = rows;
      multiply(tile);
      if (tile.finished) {
        target += rows * rowBytes;
        continue;
      }
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

BlockedProduct::RowFinisher::RowFinisher(const BlockedProduct &product, const Contraction &shape,
                                         const Block &block, float *sums, const float *bias,
                                         const Result &result)
    : product(product), shape(shape), result(result),
      finish(product.vectors.epilogue[shape.out][epilogueFlags(shape)]), firstRow(block.row),
      rows(block.rows), column(block.column), columns(block.columns), sums(sums),
      bias(bias ? bias + block.column : nullptr),
      stride(ceilDivide(block.columns, product.kernel.columns) * product.kernel.columns +
             sumPadding),
      rowBytes(block.columns * elementBytes(shape.out)),
      first((block.batch * shape.m + block.row) * shape.n + block.column),
      asksMore(result.bits.where || result.bits.mask || result.largest) {
  const bool fits = rowBytes <= static_cast<int64_t>(maximalRowBytes);
  isConsumed = result.kernel && result.isConsumed && fits && !shape.accumulate;
  isStreamed = !isConsumed && fits && streamsResult(shape, result.out) && rowBytes % cacheLine == 0;
  isFinished = (isConsumed || isStreamed) && shape.out == MPC_RT_FLOAT32 && !epilogueFlags(shape);
}

void BlockedProduct::RowFinisher::keepPace(int64_t tiles) {
  for (due += rows; due >= tiles && row < rows; due -= tiles)
    finishRow();
}

uint32_t BlockedProduct::RowFinisher::finishAll() {
  while (row < rows)
    finishRow();
  return most;
}

void BlockedProduct::RowFinisher::finishRow() {
  const int64_t begin = first + row * shape.n;
  const auto count = static_cast<size_t>(columns);
  auto *target = isConsumed ? nullptr : const_cast<uint8_t *>(at(result.out, begin, shape.out));
  float *const own = sums + row * stride;
  uint8_t *finished = isFinished                 ? reinterpret_cast<uint8_t *>(own)
                      : isStreamed || isConsumed ? staged
                                                 : target;
  if (!isFinished)
    finish(own, bias, finished, count);
  if (asksMore)
    most =
        std::max(most, product.completeRow(shape, result, firstRow + row, column, finished, count));
  if (result.kernel)
    result.kernel->run(finished, shape.out, begin, begin + columns);
  if (isStreamed)
    product.vectors.storeAroundCaches(finished, target, static_cast<size_t>(rowBytes));
  ++row;
}

} // namespace mpc::rt
