// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The sums of one block: chunk of k after chunk, panel of rhs after panel, each multiplied by all
// panels of lhs.
#include "runtime/drivers/cpu/contract/blocked_product_plan.h"

namespace mpc::rt {

// The block's panels of rhs, in groups in the order in which they are multiplied; meanwhile the
// memory of the next group is fetched, a part with each tile. Those that the block packs itself are
// packed from there, each part before the next tile: the rows of a whole group, which are short and
// often some power of two apart, would displace each other in the caches (docs/decisions/0065).
class BlockedProduct::RhsGroups {
public:
  // `memory`: room for two groups, where they are packed and not kept for other blocks.
  RhsGroups(const BlockedProduct &product, const Block &block, uint8_t *memory)
      : product(product), kernel(product.kernel), block(block), memory(memory),
        packs(block.rhsPacking == RhsPacking::byBlock || block.rhsPacking == RhsPacking::once),
        leastSteps(block.rhs.depthContiguous ? kernel.alongSteps : kernel.acrossSteps),
        packsParts(packs && leastSteps > 0), groupPanels(packs ? kernel.groupPanels : 1),
        firstPanel(block.column / kernel.columns),
        panels(ceilDivide(block.columns, kernel.columns)),
        groupsOfChunk(ceilDivide(panels, groupPanels)),
        rowPanels(ceilDivide(block.rows, kernel.rows)), next(groupAt(0)) {}

  // Begins the next group; returns its panels, one after the other.
  const uint8_t *begin() {
    group = next;
    if (packs && (!packsParts || group.index == 0))
      pack(group, wholeOf(group));
    next = groupAt(group.index + 1);
    done = 0;
    const int64_t tiles = tilesOf(group);
    if (packsParts)
      part = stepsOfPart(next, tiles);
    else if (packs)
      part = ceilDivide(sourceOf(next, wholeOf(next)).rows, tiles);
    else
      part = ceilDivide(ceilDivide(next.steps * kernel.rhsStepBytes, tiles), cacheLine) * cacheLine;
    return group.data;
  }
  int64_t tiles() const { return tilesOf(group); }
  // Before each of its tiles is multiplied: what is to be fetched meanwhile.
  MemoryRows beforeTile(bool isLast) {
    if (next.steps == 0)
      return {};
    if (packsParts)
      return packPart(isLast);
    const int64_t first = done;
    done += part;
    if (!packs)
      return {next.data + first, part, 0, 1};
    MemoryRows rows = sourceOf(next, wholeOf(next));
    rows.first += first * rows.stride;
    rows.rows = std::clamp<int64_t>(rows.rows - first, 0, part);
    return rows;
  }

private:
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

  // Some steps of some of a group's panels. No steps: there is none.
  struct Part {
    int64_t panel, panels, step, steps;
  };
  static Part wholeOf(const Group &of) { return {0, of.panels, 0, of.steps}; }
  // A part has all panels where their rows lie beside each other, else one.
  bool hasOnePanel() const { return block.rhs.depthContiguous; }
  // The steps of each part, so that there is one for each of so many tiles at most.
  int64_t stepsOfPart(const Group &of, int64_t tiles) const {
    const int64_t turns =
        hasOnePanel() ? std::max<int64_t>(tiles / std::max<int64_t>(of.panels, 1), 1) : tiles;
    return std::max(ceilDivide(of.steps, turns), leastSteps);
  }
  Part partAt(const Group &of, int64_t index, int64_t steps) const {
    const int64_t parts = ceilDivide(of.steps, steps);
    const int64_t panel = hasOnePanel() && parts > 0 ? index / parts : 0;
    const int64_t step = (index - panel * parts) * steps;
    if (panel >= of.panels || step >= of.steps)
      return {};
    return {panel, hasOnePanel() ? 1 : of.panels, step, std::min(steps, of.steps - step)};
  }
  MemoryRows packPart(bool isLast) {
    pack(next, partAt(next, done++, part));
    if (!isLast)
      return sourceOf(next, partAt(next, done, part));
    // The tiles of a smaller group are fewer than the parts.
    for (Part left = partAt(next, done, part); left.steps > 0; left = partAt(next, ++done, part))
      pack(next, left);
    const Group afterNext = groupAt(next.index + 1);
    return sourceOf(afterNext, partAt(afterNext, 0, stepsOfPart(afterNext, tilesOf(next))));
  }
  MemoryRows sourceOf(const Group &of, const Part &taken) const {
    if (taken.steps == 0)
      return {};
    return block.rhs.rowsOf(of.panel + taken.panel, taken.panels, of.step + taken.step,
                            taken.steps);
  }
  void pack(const Group &of, const Part &taken) const {
    const int64_t panelBytes = of.steps * kernel.rhsStepBytes;
    auto *to = const_cast<uint8_t *>(of.data) + taken.panel * panelBytes +
               taken.step * kernel.rhsStepBytes;
    // Panels follow each other in memory where all of their steps are packed.
    const int64_t atOnce = taken.steps == of.steps ? taken.panels : 1;
    for (int64_t panel = 0; taken.steps > 0 && panel < taken.panels; panel += atOnce)
      product.packSteps(block.rhs, of.panel + taken.panel + panel, atOnce, of.step + taken.step,
                        taken.steps, to + panel * panelBytes, block.rhsSums);
  }

  const BlockedProduct &product;
  const MicroKernel &kernel;
  const Block &block;
  uint8_t *memory;
  const bool packs;
  const int64_t leastSteps;
  const bool packsParts;
  const int64_t groupPanels, firstPanel, panels, groupsOfChunk, rowPanels;
  Group group = {}, next;
  // Each tile packs a part of the next group, of so many steps, or fetches one, in rows or bytes;
  // what is done is counted in parts, or in those.
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
        // The sums of the next column follow; behind the last one the next chunk adds to the first.
        const bool isLastColumn = column + 1 == columnPanels;
        float *nextColumn = isLastColumn ? sums : tile.sums + kernel.columns;
        for (int64_t row = 0; row < rowPanels; ++row) {
          float *below = tile.sums + kernel.rows * tile.sumStride;
          const bool isLastRow = row + 1 == rowPanels;
          tile.nextSums = isLastRow ? nextColumn : below;
          if (tile.first && !(isLastRow && isLastColumn))
            tile.nextSums = nullptr;
          tile.nextRhs = groups.beforeTile(--tiles == 0);
          kernel.multiply(tile);
          tile.lhs += lhsBytes;
          tile.sums = below;
          tile.nextLhs.first += tile.nextLhs.bytes;
        }
        tile.rhs += rhsBytes;
      }
    }
  }
}

} // namespace mpc::rt
