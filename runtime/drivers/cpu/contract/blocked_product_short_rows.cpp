// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows so short that what is done once a row, or once a tile, takes as long as their products: some
// rows at a time are multiplied by all panels, which stay in the near caches, and a kernel on the
// result runs once on all of these rows.
#include "runtime/drivers/cpu/contract/blocked_product_plan.h"

namespace mpc::rt {

// Whole tiles of 12 and of 6 rows, whose results the first-level cache holds.
constexpr int64_t mostResultBytes = 24 << 10;

static int64_t shortRowsAtOnce(const Contraction &shape) {
  constexpr int64_t unit = 12, most = 60;
  static_assert(unit * BlockedLayout::mostShortColumns * int64_t{sizeof(float)} <= mostResultBytes);
  const int64_t fitting = mostResultBytes / (shape.n * elementBytes(shape.out));
  return std::clamp(fitting / unit * unit, unit, most);
}

void BlockedProduct::multiplyShortRows(const Contraction &shape, const void *lhs,
                                       const void *packedRhs, const float *bias,
                                       const Result &result) {
  const int64_t atOnce = shortRowsAtOnce(shape), blocks = ceilDivide(shape.m, atOnce);
  const Panels weights{static_cast<const uint8_t *>(packedRhs), 0, panelsOf(shape)};
  const int64_t slots = std::min(threadsFor(shape), blocks);
  std::atomic<uint32_t> most{0};
  team.forRange(slots, 1, [&](int64_t begin, int64_t end) {
    alignas(64) uint8_t state[microKernelStateBytes];
    kernel.enter(state);
    uint32_t own = 0;
    for (int64_t i = blocks * begin / slots; i < blocks * end / slots; ++i)
      own = std::max(own, multiplyShortRows(shape, lhs, weights, bias, result, i * atOnce,
                                            std::min(atOnce, shape.m - i * atOnce)));
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
  alignas(cacheLine) uint8_t staged[mostResultBytes];
  auto *values =
      isConsumed ? staged : const_cast<uint8_t *>(at(result.out, first * shape.n, shape.out));
  // Sums with nothing to add are the result, and whole panels leave them where it is, on lines.
  const bool areResult = shape.out == MPC_RT_FLOAT32 && !epilogueFlags(shape) &&
                         rowBytes % cacheLine == 0 &&
                         reinterpret_cast<uintptr_t>(values) % cacheLine == 0;
  const uint8_t *lanes = at(lhs, first * shape.k, shape.lhs);
  alignas(cacheLine) float sums[mostPieceSums];
  uint32_t most = 0;
  const bool finishesTiles =
      pieces.finish && isComplete && shape.out == MPC_RT_FLOAT32 && !shape.accumulate;
  Piece piece = {0, nullptr, stepsOf(shape.k)};
  PieceTile tile = {};
  tile.lhsStepBytes = tile.lastStepBytes = pieces.laneBytes;
  tile.pieces = &piece;
  tile.count = 1;
  tile.first = true;
  for (int64_t panel = 0; panel < weights.panels; ++panel) {
    const int64_t column = panel * pieces.columns;
    const int64_t columns = std::min(pieces.columns, shape.n - column);
    const bool inPlace = areResult && columns == pieces.columns;
    tile.sumStride = inPlace ? shape.n : pieces.columns;
    piece.rhs = chunkOf(right, weights, /*chunk=*/0, panel);
    for (int64_t row = 0; row < count; row += pieces.rows) {
      const uint8_t *starts[mostPieceRows];
      float *rows[mostPieceRows];
      tile.rows = std::min(pieces.rows, count - row);
      for (int64_t i = 0; i < tile.rows; ++i) {
        starts[i] = lanes + (row + i) * laneBytes;
        rows[i] = reinterpret_cast<float *>(values + (row + i) * rowBytes) + column;
      }
      tile.lanes = starts;
      uint8_t *target = values + row * rowBytes + column * elementBytes(shape.out);
      tile.sums = inPlace ? reinterpret_cast<float *>(target) : sums;
      pieces.multiply(tile);
      if (inPlace && isComplete)
        continue;
      if (finishesTiles && !inPlace) {
        pieces.finish({sums, pieces.columns, shape.hasBias ? bias + column : nullptr, shape.relu,
                       rows, tile.rows, columns});
        continue;
      }
      for (int64_t i = 0; i < tile.rows; ++i, target += rowBytes) {
        if (!inPlace)
          finish(sums + i * pieces.columns, bias ? bias + column : nullptr, target,
                 static_cast<size_t>(columns));
        most = std::max(most, completeRow(shape, result, first + row + i, column, target,
                                          static_cast<size_t>(columns)));
      }
    }
  }
  if (result.kernel)
    result.kernel->run(values, shape.out, first * shape.n, (first + count) * shape.n);
  return most;
}

} // namespace mpc::rt
