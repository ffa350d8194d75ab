// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows by integer weights on AVX-512: a tile of 64 columns becomes panels in the first-level cache,
// a piece of k at a time, and all rows are multiplied by each piece, six at a time in registers.
#include "runtime/drivers/cpu/contract/integer_weights.h"
#include "runtime/drivers/cpu/kernels/work_blocks.h"

#include <algorithm>
#include <cstring>

namespace mpc::rt {
namespace {

constexpr auto columnsOfPanel = static_cast<int64_t>(tileColumns);

constexpr int64_t lineBytes = 64;

// The memory of one thread.
struct Scratch {
  float *panel, *sums;
};

struct Sizes {
  int64_t rows, rowsOfPanel, rowPanels, steps;
  int64_t panel, sums; // in numbers of float32

  Sizes(const WeightKernel &weights, const Contraction &c)
      : rows(c.m), rowsOfPanel(weights.kernel.rows), rowPanels(ceilDivide(c.m, rowsOfPanel)),
        steps(ceilDivide(c.k, weights.kernel.depth)), panel(weights.steps * columnsOfPanel),
        sums(c.m * columnsOfPanel) {}
  int64_t total() const { return panel + sums; }
  // The first row of a panel. The last two panels share what is left: the sums of one or two rows
  // are too few to hide how long an addition takes.
  int64_t firstRow(int64_t at) const {
    const bool isLast = at == rowPanels - 1 && at > 0;
    return isLast ? (at - 1) * rowsOfPanel + ceilDivide(rows - (at - 1) * rowsOfPanel, 2)
                  : std::min(at * rowsOfPanel, rows);
  }
};

int64_t tileBytesOf(const Contraction &c, bool isPaired) {
  const int64_t rows = isPaired ? ceilDivide(c.k, pairRun) * pairRun : c.k;
  return rows * (c.packedRhs ? columnsOfPanel / 2 : columnsOfPanel);
}

// Numbers in pairs, of blocks only: without scales they are no slower to widen as they lie in
// tiles.
bool readsPairs(const WeightKernel &kernel, const WeightScales *blocks) {
  return kernel.pairs[0] && blocks && blocks->fitsPairs;
}

WidenWeights chooseWiden(const WeightKernel &weights, const Contraction &c,
                         const WeightScales *blocks) {
  if (readsPairs(weights, blocks))
    return weights.pairs[blocks->divisors.empty() ? 0 : 1];
  if (!blocks)
    return weights.numbers[c.packedRhs ? 1 : 0];
  if (blocks->divisors.empty())
    return weights.scaled[c.lhs];
  return (blocks->reciprocals.empty() ? weights.divided : weights.multiplied)[c.lhs];
}

// All rows by one tile, into the scratch's sums.
void multiplyTile(const WeightKernel &weights, const Sizes &sizes, const Contraction &c,
                  const uint8_t *lhs, const int8_t *tiles, int64_t tile, const WeightScales *blocks,
                  const Scratch &scratch) {
  const MicroKernel &kernel = weights.kernel;
  const int64_t rowBytes = c.packedRhs ? columnsOfPanel / 2 : columnsOfPanel;
  const bool isPaired = readsPairs(weights, blocks);
  const int8_t *numbers = tiles + tile * tileBytesOf(c, isPaired);
  const WidenWeights widen = chooseWiden(weights, c, blocks);
  for (int64_t step = 0; step < sizes.steps; step += weights.steps) {
    const int64_t steps = std::min(weights.steps, sizes.steps - step), k = step * kernel.depth;
    const int64_t rows = std::min(steps * kernel.depth, c.k - k);
    WeightRows from{numbers + k * rowBytes, rows};
    if (blocks) {
      from.adjustments = blocks->adjustmentsOf(tile);
      from.blocks = blocks->blockOfRow.data() + k;
      const std::vector<float> &factors =
          blocks->reciprocals.empty() ? blocks->divisors : blocks->reciprocals;
      from.factors = factors.empty() ? nullptr : factors.data() + k;
    }
    widen(from, steps, scratch.panel);
    // Panels of rows share out what is widened next, half of it on each side of their products.
    const auto *next = reinterpret_cast<const uint8_t *>(numbers + (k + rows) * rowBytes);
    const int64_t share = ceilDivide(rows * rowBytes, 2 * sizes.rowPanels * lineBytes) * lineBytes;
    for (int64_t panel = 0; panel < sizes.rowPanels; ++panel) {
      const int64_t row = sizes.firstRow(panel), count = sizes.firstRow(panel + 1) - row;
      weights.multiply[count - 1]({lhs + (panel * sizes.steps + step) * kernel.lhsStepBytes,
                                   reinterpret_cast<const uint8_t *>(scratch.panel),
                                   steps,
                                   scratch.sums + row * columnsOfPanel,
                                   columnsOfPanel,
                                   step == 0,
                                   {next, share, 0, 1},
                                   {next + share, share, 0, 1},
                                   /*nextSums=*/nullptr});
      next += 2 * share;
    }
  }
}

uint64_t pairBytes(const Contraction &c) {
  return static_cast<uint64_t>(ceilDivide(c.n, columnsOfPanel) * tileBytesOf(c, /*isPaired=*/true));
}

void packPairs(ThreadTeam &team, const Contraction &c, const int8_t *rhs,
               const WeightScales &blocks, int8_t *to) {
  const int64_t runs = ceilDivide(c.k, pairRun);
  constexpr int64_t groups = columnsOfPanel / pairColumns, lineWords = 2 * pairColumns;
  team.forRange(ceilDivide(c.n, columnsOfPanel) * runs, 16, [&](int64_t begin, int64_t end) {
    for (int64_t at = begin; at < end; ++at)
      for (int64_t group = 0; group < groups; ++group) {
        uint32_t words[lineWords] = {};
        for (int64_t i = 0; i < pairRun; ++i)
          for (int64_t column = 0; column < pairColumns; ++column) {
            const int64_t index = at % runs * pairRun + i;
            const int64_t n = at / runs * columnsOfPanel + group * pairColumns + column;
            if (index < c.k && n < c.n) {
              const int number = weightAt(c, rhs, blocks.rowAt(index), n);
              words[2 * column + i % 2] |= static_cast<uint32_t>((number + 8) & 15) << (i / 2 * 4);
            }
          }
        std::memcpy(to + (at * groups + group) * static_cast<int64_t>(sizeof words), words,
                    sizeof words);
      }
  });
}

} // namespace

void IntegerWeights::multiplyPanels(const WeightKernel &weights,
                                    const mpc_rt_contract_t &descriptor, const Contraction &c,
                                    const void *lhs, const int8_t *rhs, const WeightScales *blocks,
                                    float *sums) {
  const bool isPaired = readsPairs(weights, blocks);
  const int8_t *numbers = isPaired
                              ? findTiles(descriptor, c, rhs, Layout::pairs, pairBytes(c),
                                          [&](int8_t *to) { packPairs(team, c, rhs, *blocks, to); })
                              : findVectorTiles(descriptor, c, rhs, blocks);
  const MicroKernel &kernel = weights.kernel;
  const Sizes sizes(weights, c);
  reserve(preparedRows, static_cast<uint64_t>(sizes.rowPanels * sizes.steps * kernel.lhsStepBytes));
  const int64_t count = ceilDivide(c.n, columnsOfPanel);
  const int64_t parts = std::min<int64_t>(count, team.threads());
  reserve(scratch, static_cast<uint64_t>(parts * sizes.total()) * sizeof(float));
  if (!sums)
    return;
  team.forRange(sizes.rowPanels, std::max<int64_t>(conversionGrain / (c.k * kernel.rows), 1),
                [&](int64_t begin, int64_t end) {
                  for (int64_t panel = begin; panel < end; ++panel) {
                    const int64_t row = sizes.firstRow(panel);
                    kernel.packLhs[c.lhs][1](
                        {at(lhs, row * c.k, c.lhs), c.k, sizes.firstRow(panel + 1) - row, c.k}, 1,
                        sizes.steps,
                        preparedRows.data() + panel * sizes.steps * kernel.lhsStepBytes);
                  }
                });
  float *memory = scratch.floats();
  team.forRange(parts, 1, [&](int64_t begin, int64_t end) {
    for (int64_t part = begin; part < end; ++part) {
      float *own = memory + part * sizes.total();
      const Scratch ownScratch{own, own + sizes.panel};
      for (int64_t tile = count * part / parts; tile < count * (part + 1) / parts; ++tile) {
        multiplyTile(weights, sizes, c, preparedRows.data(), numbers, tile, blocks, ownScratch);
        const int64_t first = tile * columnsOfPanel;
        const auto columns = static_cast<size_t>(std::min(columnsOfPanel, c.n - first));
        for (int64_t m = 0; m < c.m; ++m)
          std::memcpy(sums + m * c.n + first, ownScratch.sums + m * columnsOfPanel,
                      columns * sizeof(float));
      }
    }
  });
}

} // namespace mpc::rt
