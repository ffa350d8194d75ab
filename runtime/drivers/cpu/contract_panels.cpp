// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows by integer weights on AVX-512: a tile of 64 columns becomes panels in the first-level cache,
// a piece of k at a time, and all rows are multiplied by each piece, six at a time in registers.
#include "runtime/drivers/cpu/blocking.h"
#include "runtime/drivers/cpu/contractor.h"

#include <algorithm>
#include <cstring>

namespace mpc::rt {
namespace {

constexpr auto columnsOfTile = static_cast<int64_t>(tileColumns);

int64_t divideUp(int64_t a, int64_t b) { return (a + b - 1) / b; }

// What one thread needs.
struct Scratch {
  float *panel, *sums;
};

struct Sizes {
  int64_t rowPanels, steps, panel, sums; // the last two in numbers of float32

  Sizes(const WeightKernel &weights, const Contraction &c)
      : rowPanels(divideUp(c.m, weights.kernel.rows)), steps(divideUp(c.k, weights.kernel.depth)),
        panel(weights.steps * columnsOfTile),
        sums(rowPanels * weights.kernel.rows * columnsOfTile) {}
  int64_t total() const { return panel + sums; }
};

WidenWeights chooseWiden(const WeightKernel &weights, const Contraction &c,
                         const BlockWeights *blocks) {
  if (!blocks)
    return weights.numbers[c.packedRhs ? 1 : 0];
  if (blocks->divisors.empty())
    return weights.scaled[c.lhs];
  return (blocks->reciprocals.empty() ? weights.divided : weights.multiplied)[c.lhs];
}

// All rows by one tile, into the scratch's sums.
void multiplyTile(const WeightKernel &weights, const Sizes &sizes, const Contraction &c,
                  const uint8_t *lhs, const int8_t *tiles, int64_t tile, const BlockWeights *blocks,
                  const Scratch &scratch) {
  const MicroKernel &kernel = weights.kernel;
  const int64_t rowBytes = c.packedRhs ? columnsOfTile / 2 : columnsOfTile;
  const int8_t *numbers = tiles + tile * c.k * rowBytes;
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
    const auto *next = reinterpret_cast<const uint8_t *>(numbers + (k + rows) * rowBytes);
    for (int64_t panel = 0; panel < sizes.rowPanels; ++panel) {
      const int64_t left = std::min(kernel.rows, c.m - panel * kernel.rows);
      weights.multiply[left - 1]({lhs + (panel * sizes.steps + step) * kernel.lhsStepBytes,
                                  reinterpret_cast<const uint8_t *>(scratch.panel), steps,
                                  scratch.sums + panel * kernel.rows * columnsOfTile, columnsOfTile,
                                  step == 0, nullptr, next, 0, rows * rowBytes});
    }
  }
}

} // namespace

void Contractor::multiplyPanels(const WeightKernel &weights, const Contraction &c, const void *lhs,
                                const int8_t *tiles, const BlockWeights *blocks, float *sums) {
  const MicroKernel &kernel = weights.kernel;
  const Sizes sizes(weights, c);
  reserve(lhsBlock, static_cast<uint64_t>(sizes.rowPanels * sizes.steps * kernel.lhsStepBytes));
  team.forRange(sizes.rowPanels, std::max<int64_t>(conversionGrain / (c.k * kernel.rows), 1),
                [&](int64_t begin, int64_t end) {
                  const int64_t first = begin * kernel.rows;
                  kernel.packLhs[c.lhs][1](
                      {at(lhs, first * c.k, c.lhs), c.k, c.m - first, c.k}, end - begin,
                      sizes.steps, lhsBlock.data() + begin * sizes.steps * kernel.lhsStepBytes);
                });
  const int64_t count = divideUp(c.n, columnsOfTile);
  const int64_t parts = std::min<int64_t>(count, team.threads());
  reserve(tileScratch, static_cast<uint64_t>(parts * sizes.total()) * sizeof(float));
  auto *scratch = reinterpret_cast<float *>(tileScratch.data());
  team.forRange(parts, 1, [&](int64_t begin, int64_t end) {
    for (int64_t part = begin; part < end; ++part) {
      float *own = scratch + part * sizes.total();
      const Scratch places{own, own + sizes.panel};
      for (int64_t tile = count * part / parts; tile < count * (part + 1) / parts; ++tile) {
        multiplyTile(weights, sizes, c, lhsBlock.data(), tiles, tile, blocks, places);
        const int64_t first = tile * columnsOfTile;
        const auto columns = static_cast<size_t>(std::min(columnsOfTile, c.n - first));
        for (int64_t m = 0; m < c.m; ++m)
          std::memcpy(sums + m * c.n + first, places.sums + m * columnsOfTile,
                      columns * sizeof(float));
      }
    }
  });
}

} // namespace mpc::rt
