// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/drivers/cpu/contract/blocked_product_plan.h"

#include <algorithm>

namespace mpc::rt {

// Fewer are computed sooner than another thread begins.
static constexpr int64_t productsPerThread = 1 << 18;

int64_t BlockedLayout::threadsFor(const Contraction &shape) const {
  const int64_t products = shape.batch * shape.m * shape.n * shape.k;
  return std::clamp<int64_t>(products / productsPerThread, 1, team.threads());
}

// Few blocks are cut further until every thread has as many.
BlockedLayout::Grid BlockedLayout::gridOf(const Contraction &shape, bool longRows) const {
  const int64_t threads = threadsFor(shape);
  // A kernel on the result reads other arrays where the block lies: long rows, which CPUs foresee.
  // Each block of rows reads the packed columns of its block again, from the shared cache.
  constexpr int64_t sharedBytes = 4 << 20;
  const int64_t columnBytes =
      ceilDivide(shape.k, kernel.depth) * kernel.rhsStepBytes / kernel.columns;
  const int64_t longest = std::min({shape.n, kernel.longColumns, sharedBytes / columnBytes});
  const int64_t columns = longRows ? std::max(longest, kernel.blockColumns) : kernel.blockColumns;
  const int64_t rows = longRows ? std::clamp(kernel.longRows * kernel.longColumns / columns,
                                             kernel.rows, 2 * kernel.blockRows)
                                : kernel.blockRows;
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

// They are if packing costs more than their distances in memory do.
bool BlockedLayout::mayReadLhsAsItLies(const Contraction &shape) const {
  return readsLanes(shape) && shape.k * elementBytes(shape.lhs) <= longestRow &&
         ceilDivide(stepsOf(shape.k), kernel.steps) <= mostPieces;
}

bool mayPrepareLanes(const MicroKernel &kernel, const Contraction &shape) {
  return kernel.prepareLanes[shape.lhs] && !shape.transposeLhs && !shape.roundsLhs &&
         shape.k * static_cast<int64_t>(sizeof(float)) <= longestRow &&
         ceilDivide(shape.k, kernel.steps) <= mostPieces;
}

// They are if rhs is packed as a whole: sums then never leave the registers. Large results are
// stored by longer rows, around the caches.
bool BlockedLayout::readsLhsAsItLies(const Contraction &shape, bool rhsPacked,
                                     const Result &result) const {
  // AMX tiles are left out because nobody has measured them. Kernels that read copies have none
  // where rows lie.
  return &kernel != &amxBFloat16 && kernel.lhsCopies == 1 && mayReadLhsAsItLies(shape) &&
         rhsPacked && !(result.kernel && result.isConsumed) && !streamsResult(shape, result.out);
}

BlockedLayout::RhsPacking BlockedLayout::rhsPackingOf(const Contraction &shape, const Grid &grid,
                                                      const Result &result) const {
  if (shape.batch > 1 || shape.m <= kernel.blockRows)
    return RhsPacking::byBlock;
  const int64_t threads = threadsFor(shape);
  const int64_t lhsBytes =
      ceilDivide(shape.m, kernel.rows) * stepsOf(shape.k) * kernel.lhsStepBytes;
  // If there were few blocks of columns, several threads would pack the same one; if lhs were cut
  // into strips, each strip would pack rhs again.
  const bool isOnce = grid.columns.count >= threads && lhsBytes <= stripBytes &&
                      columnBytesOf(shape, grid) * threads <= stripBytes;
  return packsOnce && isOnce && !readsLhsAsItLies(shape, /*rhsPacked=*/true, result)
             ? RhsPacking::once
             : RhsPacking::first;
}

int64_t BlockedLayout::columnBytesOf(const Contraction &shape, const Grid &grid) const {
  return grid.columns.size / kernel.columns * stepsOf(shape.k) * kernel.rhsStepBytes;
}

bool BlockedLayout::packsRhsFirst(const Contraction &shape, const Result &result) const {
  return rhsPackingOf(shape, gridOf(shape, hasOtherArrays(result)), result) == RhsPacking::first;
}

bool BlockedLayout::storesNothing(const Contraction &shape, const Result &result) const {
  if (!result.kernel || !result.isConsumed || shape.accumulate)
    return false;
  const int64_t columns = std::min(gridOf(shape, /*longRows=*/true).columns.size, shape.n);
  return columns * elementBytes(shape.out) <= static_cast<int64_t>(maximalRowBytes);
}

BlockedLayout::Panels BlockedLayout::panelsOf(const PanelOperand &side, const Blocking &blocks,
                                              int64_t first, int64_t count) {
  const int64_t unit = blocks.size / side.panelLanes;
  const int64_t end = std::min((first + count) * unit, ceilDivide(side.lanes, side.panelLanes));
  return {nullptr, first * unit, end - first * unit};
}

bool BlockedLayout::multiplies(const Contraction &shape) const {
  auto packs = [](PackTable packs, mpc_rt_dtype_t dtype) {
    return dtype <= MPC_RT_FLOAT16 && packs[dtype][0];
  };
  return shape.k > 0 && packs(kernel.packLhs, shape.lhs) && packs(kernel.packRhs, shape.rhs) &&
         shape.out <= MPC_RT_FLOAT16;
}

uint64_t BlockedLayout::packedBytes(const Contraction &shape) const {
  return static_cast<uint64_t>(panelsOf(shape) * stepsOf(shape.k) *
                               rhsOf(shape, nullptr, isNarrow(shape)).stepBytes);
}

} // namespace mpc::rt
