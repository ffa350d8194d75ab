// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows so short that what is done once a row, or once a tile, takes as long as their products: some
// rows at a time are multiplied by all panels, which stay in the near caches, and a kernel on the
// result runs once on all of these rows.
#include "runtime/drivers/cpu/contract/blocked_product_plan.h"
#include "runtime/drivers/cpu/kernels/line_fetcher.h"

namespace mpc::rt {

// Whole tiles of 12 and of 6 rows, whose results the first-level cache holds, if they are not of
// many columns.
constexpr int64_t nearResultBytes = 24 << 10, mostResultBytes = 48 << 10;

// Operands and results of so many bytes leave the near caches.
constexpr int64_t fewestBytesToFetch = 8 << 20;

static int64_t shortRowsAtOnce(const Contraction &shape) {
  constexpr int64_t unit = 12, most = 60;
  static_assert(unit * BlockedLayout::mostShortColumns * int64_t{sizeof(float)} <= mostResultBytes);
  const int64_t fitting = nearResultBytes / (shape.n * elementBytes(shape.out));
  return std::clamp(fitting / unit * unit, unit, most);
}

void BlockedProduct::multiplyShortRows(const Contraction &shape, const void *lhs,
                                       const void *packedRhs, const float *bias,
                                       const Result &result) {
  const Panels weights{static_cast<const uint8_t *>(packedRhs), 0, panelsOf(shape)};
  const int64_t slots = std::min(threadsFor(shape), ceilDivide(shape.m, kernel.rows));
  // Threads have as many rows each, and blocks whole tiles where they have several.
  const int64_t atOnce = shortRowsAtOnce(shape), tileRows = lanePieces(shape).rows;
  const int64_t unit = atOnce > 2 * tileRows ? tileRows : 1;
  const int64_t blocks = ceilDivide(ceilDivide(shape.m, slots), atOnce + 1 - unit) * slots;
  const auto firstOf = [&](int64_t block) {
    const int64_t row = shape.m * block / blocks;
    return block < blocks && shape.m >= 2 * unit * blocks ? row / unit * unit : row;
  };
  std::atomic<uint32_t> most{0};
  team.shareOut(blocks, slots, [&](Turns &turns) {
    alignas(64) uint8_t state[microKernelStateBytes];
    kernel.enter(state);
    uint32_t own = 0;
    for (int64_t i; turns.take(i);) {
      const int64_t first = firstOf(i), count = firstOf(i + 1) - first;
      own = std::max(own, multiplyShortRows(shape, lhs, weights, bias, result, first, count));
    }
    kernel.leave(state);
    raise(most, own);
  });
  if (result.largest)
    *result.largest = most.load(std::memory_order_relaxed);
}

uint32_t BlockedProduct::multiplyShortRows(const Contraction &shape, const void *lhs,
                                           const Panels &weights, const float *bias,
                                           const Result &result, int64_t first,
                                           int64_t count) const {
  const PieceKernel &pieces = lanePieces(shape);
  const PanelOperand right = rhsOf(shape, nullptr, isNarrow(shape));
  const EpilogueRow finish = vectors.epilogue[shape.out][epilogueFlags(shape)];
  // Nothing is asked of rows beside bias and relu.
  const bool isComplete = !result.bits.where && !result.bits.mask && !result.largest;
  const int64_t rowBytes = shape.n * elementBytes(shape.out);
  const int64_t laneBytes = shape.k * elementBytes(shape.lhs);
  const bool isConsumed = result.kernel && result.isConsumed && !shape.accumulate;
  // Memory that is far from the near caches is asked for before a tile is multiplied.
  const bool fetches = !isConsumed && shape.m * (laneBytes + rowBytes) >= fewestBytesToFetch;
  alignas(cacheLine) uint8_t staged[mostResultBytes];
  auto *values =
      isConsumed ? staged : const_cast<uint8_t *>(at(result.out, first * shape.n, shape.out));
  const uint8_t *lanes = at(lhs, first * shape.k, shape.lhs);
  alignas(cacheLine) float sums[mostPieceSums];
  uint32_t most = 0;
  uint8_t *rows[mostPieceRows];
  FinishedRows finished = {rows, 0, nullptr, shape.relu};
  const int64_t steps = stepsOf(shape.k);
  Piece chunks[mostPieces];
  PieceTile tile = {};
  tile.lhsStepBytes = tile.lastStepBytes = pieces.laneBytes;
  tile.pieces = chunks;
  tile.first = true;
  tile.sums = sums;
  tile.sumStride = pieces.columns;
  if (pieces.finishedDtype == static_cast<int>(shape.out) && isComplete && !shape.accumulate)
    tile.finished = &finished;
  const EvenTiles tiles(count, pieces.rows);
  for (int64_t panel = 0; panel < weights.panels; ++panel) {
    const int64_t column = panel * pieces.columns;
    finished.columns = std::min(pieces.columns, shape.n - column);
    finished.bias = shape.hasBias ? bias + column : nullptr;
    tile.count = 0;
    for (int64_t step = 0; step < steps; step += kernel.steps)
      chunks[tile.count++] = {step * pieces.laneBytes,
                              chunkOf(right, weights, step / kernel.steps, panel),
                              std::min(kernel.steps, steps - step)};
    for (int64_t row = 0, index = 0; index < tiles.count(); row += tiles.rowsOf(index++)) {
      const uint8_t *starts[mostPieceRows];
      uint8_t *target = values + row * rowBytes + column * elementBytes(shape.out);
      tile.rows = tiles.rowsOf(index);
      for (int64_t i = 0; i < tile.rows; ++i) {
        if (fetches)
          fetchLines(target + i * rowBytes, finished.columns * elementBytes(shape.out));
        starts[i] = lanes + (row + i) * laneBytes;
        rows[i] = target + i * rowBytes;
      }
      tile.lanes = starts;
      pieces.multiply(tile);
      for (int64_t i = 0; !tile.finished && i < tile.rows; ++i, target += rowBytes) {
        const auto columns = static_cast<size_t>(finished.columns);
        finish(sums + i * pieces.columns, finished.bias, target, columns);
        most = std::max(most, completeRow(shape, result, first + row + i, column, target, columns));
      }
    }
  }
  if (result.kernel)
    result.kernel->run(values, shape.out, first * shape.n, (first + count) * shape.n);
  return most;
}

} // namespace mpc::rt
