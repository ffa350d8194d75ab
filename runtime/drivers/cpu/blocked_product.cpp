// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/drivers/cpu/blocked_product_plan.h"
#include "runtime/drivers/cpu/line_fetcher.h"

#include <algorithm>
#include <emmintrin.h>

namespace mpc::rt {
namespace {

// Fewer are computed sooner than another thread begins.
constexpr int64_t productsPerThread = 1 << 18;

// Of a row of lhs that is read where it lies, and chunks of it.
constexpr int64_t longestRow = 4096, mostPieces = 16;

// A large result is written without reading what was there before, and without displacing what the
// caches hold: by the time somebody reads it, it would have left them anyway.
bool streamsResult(const Contraction &shape, const void *out) {
  constexpr int64_t largeBytes = 4 << 20;
  return !shape.accumulate && shape.n * elementBytes(shape.out) % 64 == 0 &&
         static_cast<int64_t>(shape.outElements()) * elementBytes(shape.out) >= largeBytes &&
         reinterpret_cast<uintptr_t>(out) % 64 == 0;
}

void storeAroundCaches(const uint8_t *from, uint8_t *to, int64_t bytes) {
  for (int64_t i = 0; i < bytes; i += 16)
    _mm_stream_si128(reinterpret_cast<__m128i *>(to + i),
                     _mm_load_si128(reinterpret_cast<const __m128i *>(from + i)));
}

} // namespace

int64_t BlockedProduct::threadsFor(const Contraction &shape) const {
  const int64_t products = shape.batch * shape.m * shape.n * shape.k;
  return std::clamp<int64_t>(products / productsPerThread, 1, team.threads());
}

// Few blocks are cut further until every thread has as many.
BlockedProduct::Grid BlockedProduct::gridOf(const Contraction &shape, bool longRows) const {
  const int64_t threads = threadsFor(shape);
  // A kernel on the result reads other arrays where the block lies: long rows, which CPUs foresee.
  // Each block of rows reads the packed columns of its block again, from the shared cache.
  constexpr int64_t kernelColumns = 4096, sharedBytes = 4 << 20;
  const int64_t columnBytes =
      ceilDivide(shape.k, kernel.depth) * kernel.rhsStepBytes / kernel.columns;
  const int64_t longest = std::min({shape.n, kernelColumns, sharedBytes / columnBytes});
  const int64_t columns = longRows ? std::max(longest, kernel.blockColumns) : kernel.blockColumns;
  const int64_t rows = std::max(kernel.blockRows * kernel.blockColumns / columns, kernel.rows);
  Grid grid{Blocking::atMost(shape.m, rows, kernel.rows),
            Blocking::atMost(shape.n, columns, kernel.columns)};
  auto isEven = [&](const Grid &grid) {
    int64_t blocks = shape.batch * grid.rows.count * grid.columns.count;
    return blocks % threads == 0 || blocks >= 8 * threads;
  };
  if (isEven(grid))
    return grid;
  for (int64_t more = 1; more < threads; ++more) {
    Grid narrower{grid.rows, Blocking::inParts(shape.n, grid.columns.count + more, kernel.columns)};
    if (isEven(narrower))
      return narrower;
    Grid lower{Blocking::inParts(shape.m, grid.rows.count + more, kernel.rows), grid.columns};
    if (isEven(lower))
      return lower;
  }
  return grid;
}

// ---- How blocks read operands -------------------------------------------------------------------

bool BlockedProduct::readsLanes(const Contraction &shape) const {
  const mpc_rt_dtype_t read = kernel.depth == 1 ? MPC_RT_FLOAT32 : MPC_RT_BFLOAT16;
  const int64_t chunks = ceilDivide(stepsOf(shape.k), kernel.steps);
  // Each piece may end with a part of a step, but only the last one does.
  const bool areStepsWhole =
      shape.k % (chunks == 1 ? lanePieces(shape).multiple : kernel.depth) == 0;
  return !shape.transposeLhs && shape.lhs == read && !shape.roundsLhs && areStepsWhole;
}

// They are if packing costs more than their distances in memory do.
bool BlockedProduct::mayReadLhsAsItLies(const Contraction &shape) const {
  return readsLanes(shape) && shape.k * elementBytes(shape.lhs) <= longestRow &&
         ceilDivide(stepsOf(shape.k), kernel.steps) <= mostPieces;
}

// They are if rhs is packed as a whole: sums then never leave the registers. Large results are
// stored by longer rows, around the caches.
bool BlockedProduct::readsLhsAsItLies(const Contraction &shape, bool rhsPacked,
                                      const Result &result) const {
  // With tiles not measured.
  return &kernel != &amxBFloat16 && mayReadLhsAsItLies(shape) && rhsPacked &&
         !(result.kernel && result.isConsumed) && !streamsResult(shape, result.out);
}

BlockedProduct::RhsPacking BlockedProduct::rhsPackingOf(const Contraction &shape, const Grid &grid,
                                                        const Result &result) const {
  if (shape.batch > 1 || shape.m <= kernel.blockRows)
    return RhsPacking::byBlock;
  const int64_t threads = threadsFor(shape);
  const int64_t lhsBytes =
      ceilDivide(shape.m, kernel.rows) * stepsOf(shape.k) * kernel.lhsStepBytes;
  // Of few blocks of columns threads would pack the same; for strips of lhs, again and again.
  const bool isOnce = grid.columns.count >= threads && lhsBytes <= stripBytes &&
                      columnBytesOf(shape, grid) * threads <= stripBytes;
  return packsOnce && isOnce && !readsLhsAsItLies(shape, /*rhsPacked=*/true, result)
             ? RhsPacking::once
             : RhsPacking::first;
}

int64_t BlockedProduct::columnBytesOf(const Contraction &shape, const Grid &grid) const {
  return grid.columns.size / kernel.columns * stepsOf(shape.k) * kernel.rhsStepBytes;
}

bool BlockedProduct::packsRhsFirst(const Contraction &shape, const Result &result) const {
  return rhsPackingOf(shape, gridOf(shape, hasOtherArrays(result)), result) == RhsPacking::first;
}

// ---- Products -----------------------------------------------------------------------------------

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
            // Of all blocks that pack these columns, the first one alone.
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
  // Of one matrix. Blocks begin where a byte of bits does: panels are multiples of 8 columns.
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
