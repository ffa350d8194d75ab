// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The sums of one block: chunk of k after chunk, panel of rhs after panel, each multiplied by all
// panels of lhs.
#include "runtime/drivers/cpu/contract/blocked_product_plan.h"

namespace mpc::rt {

// The block's panels of rhs, in groups in the order in which they are multiplied; meanwhile the
// memory of the next group is fetched, a part with each tile. Those that the block packs itself are
// packed from there. Where lanes are contiguous each part is packed before the next tile: the rows
// of a whole group, which are short and often some power of two apart, would displace each other in
// the caches (docs/decisions/0065).
class BlockedProduct::RhsGroups {
public:
  // `memory`: room for two groups, where they are packed and not kept for other blocks.
  RhsGroups(const BlockedProduct &product, const Block &block, uint8_t *memory)
      : product(product), kernel(product.kernel), block(block), memory(memory),
        packs(block.rhsPacking == RhsPacking::byBlock || block.rhsPacking == RhsPacking::once),
        packsSlices(packs && !block.rhs.depthContiguous),
        groupPanels(packs ? kernel.groupPanels : 1), firstPanel(block.column / kernel.columns),
        panels(ceilDivide(block.columns, kernel.columns)),
        groupsOfChunk(ceilDivide(panels, groupPanels)),
        rowPanels(ceilDivide(block.rows, kernel.rows)), next(groupAt(0)) {}

  // Begins the next group; returns its panels, one after the other.
  const uint8_t *begin() {
    group = next;
    if (packs && (!packsSlices || group.index == 0))
      pack(group, 0, group.steps);
    next = groupAt(group.index + 1);
    done = 0;
    const int64_t tiles = tilesOf(group);
    if (packsSlices)
      part = sliceOf(next, tiles);
    else if (packs)
      part = ceilDivide(sourceOf(next, 0, next.steps).rows, tiles);
    else
      part = ceilDivide(ceilDivide(next.steps * kernel.rhsStepBytes, tiles), cacheLine) * cacheLine;
    return group.data;
  }
  int64_t tiles() const { return tilesOf(group); }
  // Before each of its tiles is multiplied: what is to be fetched meanwhile.
  MemoryRows beforeTile(bool isLast) {
    if (next.steps == 0)
      return {};
    if (packsSlices)
      return packSlice(isLast);
    const int64_t first = done;
    done += part;
    if (!packs)
      return {next.data + first, part, 0, 1};
    MemoryRows rows = sourceOf(next, 0, next.steps);
    rows.first += first * rows.stride;
    rows.rows = std::clamp<int64_t>(rows.rows - first, 0, part);
    return rows;
  }

private:
  // In steps: a call for less does more than it packs.
  static constexpr int64_t shortestSlice = 16;
  // Counted on through all chunks. No steps: there is none.
  struct Group {
    int64_t index, panel, panels, step, steps;
    const uint8_t *data;
  };
  Group groupAt(int64_t index) const {
    const int64_t chunk = index / groupsOfChunk, step = chunk * kernel.steps;
    const int64_t panel = index % groupsOfChunk * groupPanels;
    Group found = {index,
                   firstPanel + panel,
                   std::min(groupPanels, panels - panel),
                   step,
                   std::clamp<int64_t>(block.rhs.steps() - step, 0, kernel.steps),
                   memory};
    if (block.rhsPacking != RhsPacking::byBlock)
      found.data = product.chunkOf(block.rhs, block.rhsPanels, chunk, found.panel);
    else if (index % 2)
      found.data += groupPanels * kernel.steps * kernel.rhsStepBytes;
    return found;
  }
  int64_t tilesOf(const Group &of) const { return of.panels * rowPanels; }
  // Steps that are packed with each of so many tiles, but for the last ones.
  static int64_t sliceOf(const Group &of, int64_t tiles) {
    return std::max(ceilDivide(of.steps, tiles), shortestSlice);
  }
  MemoryRows packSlice(bool isLast) {
    auto sizeAt = [&](int64_t step) { return std::clamp<int64_t>(next.steps - step, 0, part); };
    pack(next, done, sizeAt(done));
    done += part;
    if (!isLast)
      return sourceOf(next, done, sizeAt(done));
    const Group afterNext = groupAt(next.index + 1);
    return sourceOf(afterNext, 0, std::min(sliceOf(afterNext, tilesOf(next)), afterNext.steps));
  }
  MemoryRows sourceOf(const Group &of, int64_t step, int64_t steps) const {
    if (steps == 0)
      return {};
    return block.rhs.rowsOf(of.panel, of.panels, of.step + step, steps);
  }
  void pack(const Group &of, int64_t step, int64_t steps) const {
    if (steps == of.steps)
      return product.packSteps(block.rhs, of.panel, of.panels, of.step, steps,
                               const_cast<uint8_t *>(of.data), block.rhsSums);
    auto *to = const_cast<uint8_t *>(of.data) + step * kernel.rhsStepBytes;
    for (int64_t panel = 0; steps > 0 && panel < of.panels; ++panel)
      product.packSteps(block.rhs, of.panel + panel, 1, of.step + step, steps,
                        to + panel * of.steps * kernel.rhsStepBytes, block.rhsSums);
  }

  const BlockedProduct &product;
  const MicroKernel &kernel;
  const Block &block;
  uint8_t *memory;
  const bool packs, packsSlices;
  const int64_t groupPanels, firstPanel, panels, groupsOfChunk, rowPanels;
  Group group = {}, next;
  // Each tile packs or fetches a part of the next group, counted in steps, in rows or in bytes.
  int64_t part = 0, done = 0;
};

void BlockedProduct::multiplyBlock(const Block &block, Workspace &own) const {
  const int64_t rowPanels = ceilDivide(block.rows, kernel.rows);
  const int64_t columnPanels = ceilDivide(block.columns, kernel.columns);
  const int64_t firstRow = block.row / kernel.rows, allSteps = stepsOf(block.lhs.depth);
  const int64_t chunks = ceilDivide(allSteps, kernel.steps);
  RhsGroups groups(*this, block, own.rhs.data());
  MicroTile tile = {};
  tile.sumStride = columnPanels * kernel.columns + sumPadding;
  for (int64_t chunk = 0; chunk < chunks; ++chunk) {
    tile.first = chunk == 0;
    tile.steps = std::min(kernel.steps, allSteps - chunk * kernel.steps);
    const int64_t lhsBytes = tile.steps * kernel.lhsStepBytes;
    const int64_t rhsBytes = tile.steps * kernel.rhsStepBytes;
    const uint8_t *lhs = own.lhs.data();
    tile.nextLhs = {};
    if (!block.lhsPanels.data) {
      pack(block.lhs, firstRow, rowPanels, chunk, own.lhs.data());
    } else {
      lhs = chunkOf(block.lhs, block.lhsPanels, chunk, firstRow);
      // Each tile fetches its share.
      const int64_t share = ceilDivide(lhsBytes, columnPanels * cacheLine) * cacheLine;
      if (chunk + 1 < chunks)
        tile.nextLhs = {chunkOf(block.lhs, block.lhsPanels, chunk + 1, firstRow), share, 0, 1};
    }
    float *sums = own.sums.floats();
    for (int64_t column = 0; column < columnPanels;) {
      tile.rhs = groups.begin();
      for (int64_t tiles = groups.tiles(); tiles > 0; ++column) {
        tile.lhs = lhs;
        tile.sums = sums + column * kernel.columns;
        for (int64_t row = 0; row < rowPanels; ++row) {
          tile.nextRhs = groups.beforeTile(--tiles == 0);
          kernel.multiply(tile);
          tile.lhs += lhsBytes;
          tile.sums += kernel.rows * tile.sumStride;
          tile.nextLhs.first += tile.nextLhs.bytes;
        }
        tile.rhs += rhsBytes;
      }
    }
  }
}

} // namespace mpc::rt
