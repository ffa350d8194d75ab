// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The memory that a blocked product needs besides its operands, and whether it needs its result's.
#include "runtime/drivers/cpu/contract/blocked_product_plan.h"

namespace mpc::rt {

uint64_t BlockedProduct::bytes() const noexcept {
  uint64_t total = lhsPanels.size() + rhsPanels.size();
  for (const Workspace &own : workspaces)
    total += own.sums.size() + own.lhs.size() + own.rhs.size();
  return total;
}

BlockedProduct::Plan BlockedProduct::prepare(const Contraction &shape, bool rhsIsPacked,
                                             const Result &result) {
  const PanelOperand left = lhsOf(shape, nullptr), right = rhsOf(shape, nullptr);
  Plan plan{gridOf(shape, hasOtherArrays(result))};
  const Grid &grid = plan.grid;
  plan.rhsPacking = rhsIsPacked ? RhsPacking::none : rhsPackingOf(shape, grid, result);
  const bool rhsFirst = plan.rhsPacking == RhsPacking::first;
  plan.lhsAsItLies = readsLhsAsItLies(shape, rhsIsPacked || rhsFirst, result);
  plan.lhsFirst = !plan.lhsAsItLies && shape.batch == 1 && grid.columns.count > 1;

  plan.sumBlocks = !result.kernel && streamsResult(shape, result.out) ? 2 : 1;

  // The first strip is the largest one.
  auto stripOf = [&](const Blocking &blocks, const PanelOperand &side, bool first, Buffer &buffer) {
    if (!first)
      return blocks.count;
    const int64_t blockBytes = blocks.size / side.panelLanes * side.steps() * side.stepBytes;
    const int64_t strip = std::clamp<int64_t>(stripBytes / blockBytes, 1, blocks.count);
    reserve(buffer, panelsOf(side, blocks, 0, strip).panels * side.steps() * side.stepBytes);
    return strip;
  };
  plan.rowStrip = stripOf(grid.rows, left, plan.lhsFirst, lhsPanels);
  plan.columnStrip = stripOf(grid.columns, right, rhsFirst, rhsPanels);

  workspaces.resize(static_cast<size_t>(team.threads()));
  for (Workspace &own : workspaces) {
    if (plan.lhsAsItLies)
      break;
    reserve(own.sums, plan.sumBlocks * sumElementsOf(grid) * static_cast<int64_t>(sizeof(float)));
    if (!plan.lhsFirst)
      reserve(own.lhs, grid.rows.size / kernel.rows * kernel.steps * kernel.lhsStepBytes);
    if (plan.rhsPacking == RhsPacking::byBlock)
      reserve(own.rhs, 2 * kernel.groupPanels * kernel.steps * kernel.rhsStepBytes);
    else if (plan.rhsPacking == RhsPacking::once)
      reserve(own.rhs, columnBytesOf(shape, grid));
    own.packedColumn = -1;
  }
  return plan;
}

int64_t BlockedProduct::sumElementsOf(const Grid &grid) {
  return grid.rows.size * (grid.columns.size + sumPadding);
}

void BlockedProduct::reserveFor(const Contraction &shape, bool rhsIsPacked, const Result &result) {
  if (rhsIsPacked && isOfShortRows(shape) && areManyRows(kernel, shape))
    return; // they need none
  if (streamsWeights(shape, rhsIsPacked))
    reserveStreamed(shape, rhsIsPacked);
  else
    prepare(shape, rhsIsPacked, result);
}

} // namespace mpc::rt
