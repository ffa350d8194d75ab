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
        rowPanels(ceilDivide(block.rows, kernel.rows)),
        packingTiles(rowPanels - (block.rows % kernel.rows ? 1 : 0)),
        sourceBytes(elementBytes(block.rhs.dtype)),
        multiplyAndPack(packs && !block.rhsSums && packingTiles >= fewestPackingTiles
                            ? find(kernel, block.rhs)
                            : nullptr),
        next(groupAt(0)) {}

  // Begins the next group; returns its panels, one after the other.
  const uint8_t *begin() {
    group = next;
    const bool isPacked = group.index > 0 && (packsParts || isPackedInTiles);
    if (packs && !isPacked)
      pack(group, wholeOf(group));
    next = groupAt(group.index + 1);
    done = 0;
    const int64_t tiles = tilesOf(group);
    isPackedInTiles = packsInTiles(next, group);
    if (isPackedInTiles)
      beginTurns();
    else if (packsParts)
      part = stepsOfPart(next, tiles);
    else if (packs)
      part = ceilDivide(sourceOf(next, wholeOf(next)).rows, tiles);
    else
      part = ceilDivide(ceilDivide(next.steps * kernel.rhsStepBytes, tiles), cacheLine) * cacheLine;
    return group.data;
  }
  int64_t tiles() const { return tilesOf(group); }
  // Multiplies one of them, which fetches and packs what follows.
  void multiply(MicroTile &tile, bool isLast) {
    tile.packed = {};
    tile.nextRhs = beforeTile(tile, isLast);
    (tile.packed.steps > 0 ? multiplyAndPack : kernel.multiply)(tile);
  }

private:
  MemoryRows beforeTile(MicroTile &tile, bool isLast) {
    if (next.steps == 0)
      return {};
    if (isPackedInTiles) {
      if (tile.missingRows == 0)
        takeTurn(tile);
      return isLast ? firstSourceAfterNext() : turnRows;
    }
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
    return firstSourceAfterNext();
  }
  MemoryRows firstSourceAfterNext() const {
    const Group afterNext = groupAt(next.index + 1);
    if (afterNext.steps == 0)
      return {};
    return packsInTiles(afterNext, next)
               ? sourceOf(rowsOf(afterNext), partOf(afterNext, {}, stepsOfTile(afterNext, next)))
               : sourceOf(afterNext, partAt(afterNext, 0, stepsOfPart(afterNext, tilesOf(next))));
  }

  // ---- Parts that tiles pack while they multiply, as many as there are tiles of whole rows.

  static MultiplyTiles find(const MicroKernel &kernel, const PanelOperand &rhs) {
    return kernel.multiplyAndPack ? kernel.multiplyAndPack[rhs.dtype][rhs.depthContiguous ? 1 : 0]
                                  : nullptr;
  }
  // Parts of the same steps: a part has all of a group's lanes, or some of a panel's where k is
  // contiguous.
  int64_t partsOfSteps(const Group &of) const {
    return block.rhs.depthContiguous ? of.panels * kernel.columns / PackedSteps::vectorLanes : 1;
  }
  // Lanes and steps are all there, and each part has one of the tiles of the group before.
  bool packsInTiles(const Group &of, const Group &before) const {
    return multiplyAndPack && of.steps > 0 &&
           (of.panel + of.panels) * kernel.columns <= block.rhs.lanes &&
           (!block.rhs.depthContiguous || of.steps % PackedSteps::stepsAtOnce == 0) &&
           before.panels * packingTiles >= partsOfSteps(of);
  }
  // Where k is contiguous, whole lines of memory.
  int64_t stepsOfTile(const Group &of, const Group &before) const {
    const int64_t unit = block.rhs.depthContiguous ? cacheLine / stepBytesOfLane : 1;
    const int64_t turns = before.panels * packingTiles / partsOfSteps(of);
    return ceilDivide(ceilDivide(of.steps, turns), unit) * unit;
  }
  void beginTurns() {
    part = stepsOfTile(next, group);
    nextRows = rowsOf(next);
    turn = partOf(next, {}, part);
    turnRows = sourceOf(nextRows, turn);
  }
  // Packs the next part with this tile.
  void takeTurn(MicroTile &tile) {
    const int64_t panelBytes = next.steps * kernel.rhsStepBytes;
    tile.packed = {turnRows.first,
                   block.rhs.stride,
                   turn.steps,
                   const_cast<uint8_t *>(next.data) + turn.panel * panelBytes +
                       turn.step * kernel.rhsStepBytes + turn.lane * stepBytesOfLane,
                   block.rhs.depthContiguous ? 1 : next.panels,
                   panelBytes};
    turn = partAfter(turn);
    turnRows = sourceOf(nextRows, turn);
  }
  struct LanePart {
    int64_t panel, lane, step, steps; // no steps: all are packed
  };
  // The part that begins with the lane and step of `begin`.
  LanePart partOf(const Group &of, const LanePart &begin, int64_t steps) const {
    const bool isOver = begin.panel >= of.panels;
    return {begin.panel, begin.lane, begin.step,
            isOver ? 0 : std::min(steps, of.steps - begin.step)};
  }
  LanePart partAfter(LanePart of) const {
    of.step += of.steps;
    if (of.step >= next.steps) {
      of.step = 0;
      of.lane += PackedSteps::vectorLanes;
      if (!block.rhs.depthContiguous || of.lane >= kernel.columns) {
        of.lane = 0;
        of.panel += block.rhs.depthContiguous ? 1 : next.panels;
      }
    }
    return partOf(next, of, part);
  }
  MemoryRows rowsOf(const Group &of) const {
    return block.rhs.rowsOf(of.panel, of.panels, of.step, of.steps);
  }
  // Where a part lies; `rows` are those of its group.
  MemoryRows sourceOf(MemoryRows rows, const LanePart &taken) const {
    if (taken.steps == 0)
      return {};
    if (!block.rhs.depthContiguous)
      return {rows.first + taken.step * rows.stride, rows.bytes, rows.stride, taken.steps};
    return {rows.first + (taken.panel * kernel.columns + taken.lane) * rows.stride +
                taken.step * sourceBytes,
            taken.steps * sourceBytes, rows.stride, PackedSteps::vectorLanes};
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
  // Fewer tiles would pack many steps each.
  static constexpr int64_t fewestPackingTiles = 4, stepBytesOfLane = 4;
  const int64_t packingTiles, sourceBytes;
  const MultiplyTiles multiplyAndPack; // null: tiles do not pack
  Group group = {}, next;
  // Each tile packs a part of the next group, of so many steps, or fetches one, in rows or bytes;
  // what is done is counted in parts, or in those.
  int64_t part = 0, done = 0;
  bool isPackedInTiles = false;            // the next group
  LanePart turn = {};                      // that the next tile packs of it
  MemoryRows nextRows = {}, turnRows = {}; // where all of it and that part lie
};

void BlockedProduct::multiplyBlock(const Block &block, Workspace &own, float *sums,
                                   RowFinisher *before) const {
  const int64_t rowPanels = ceilDivide(block.rows, kernel.rows);
  const int64_t columnPanels = ceilDivide(block.columns, kernel.columns);
  const int64_t firstRow = block.row / kernel.rows, allSteps = stepsOf(block.lhs.depth);
  const int64_t chunks = ceilDivide(allSteps, kernel.steps);
  RhsGroups groups(*this, block, own.rhs.data());
  const int64_t missingRows = rowPanels * kernel.rows - block.rows;
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
          tile.missingRows = isLastRow ? missingRows : 0;
          groups.multiply(tile, --tiles == 0);
          if (before)
            before->keepPace(chunks * columnPanels * rowPanels);
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
