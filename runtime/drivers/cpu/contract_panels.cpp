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

// Zeros and scales of one tile's columns, block by block; those of columns that are not there are
// zeros.
void loadAdjustments(const VectorKernels &kernels, const Contraction &c, const BlockScales &blocks,
                     int64_t first, float *to) {
  const auto columns = static_cast<size_t>(std::min(columnsOfTile, c.n - first));
  std::fill_n(to, blocks.count * 2 * columnsOfTile, 0.0f);
  for (int64_t block = 0; block < blocks.count; ++block, to += 2 * columnsOfTile) {
    const int64_t place = block * c.n + first;
    std::copy_n(blocks.zero + place, columns, to);
    const uint8_t *scale = at(blocks.scale, place, c.lhs);
    if (c.lhs == MPC_RT_FLOAT32)
      std::memcpy(to + columnsOfTile, scale, columns * sizeof(float));
    else
      (c.lhs == MPC_RT_BFLOAT16 ? kernels.widenBFloat16 : kernels.widenFloat16)(
          reinterpret_cast<const uint16_t *>(scale), to + columnsOfTile, columns);
  }
}

// What one thread needs.
struct Scratch {
  float *panel, *sums, *adjustments;
};

struct Sizes {
  int64_t rowPanels, steps, panel, sums, adjustments; // the last three in numbers of float32

  Sizes(const WeightKernel &weights, const Contraction &c, const BlockScales *blocks)
      : rowPanels(divideUp(c.m, weights.kernel.rows)), steps(divideUp(c.k, weights.kernel.depth)),
        panel(weights.steps * columnsOfTile), sums(rowPanels * weights.kernel.rows * columnsOfTile),
        adjustments(blocks ? blocks->count * 2 * columnsOfTile : 0) {}
  int64_t total() const { return panel + sums + adjustments; }
};

// All rows by one tile, into the scratch's sums.
void multiplyTile(const WeightKernel &weights, const Sizes &sizes, const Contraction &c,
                  const uint8_t *lhs, const int8_t *tile, const int32_t *blockOfRow,
                  const Scratch &scratch) {
  const MicroKernel &kernel = weights.kernel;
  const int64_t rowBytes = c.packedRhs ? columnsOfTile / 2 : columnsOfTile;
  const WidenWeights widen =
      blockOfRow ? weights.scaled[c.lhs] : weights.numbers[c.packedRhs ? 1 : 0];
  for (int64_t step = 0; step < sizes.steps; step += weights.steps) {
    const int64_t steps = std::min(weights.steps, sizes.steps - step), k = step * kernel.depth;
    const int64_t rows = std::min(steps * kernel.depth, c.k - k);
    widen({tile + k * rowBytes, rows, scratch.adjustments, blockOfRow ? blockOfRow + k : nullptr},
          steps, scratch.panel);
    const auto *next = reinterpret_cast<const uint8_t *>(tile + (k + rows) * rowBytes);
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
                                const int8_t *tiles, const BlockScales *blocks, float *sums) {
  const MicroKernel &kernel = weights.kernel;
  const Sizes sizes(weights, c, blocks);
  reserve(lhsBlock, static_cast<uint64_t>(sizes.rowPanels * sizes.steps * kernel.lhsStepBytes));
  team.forRange(sizes.rowPanels, std::max<int64_t>(conversionGrain / (c.k * kernel.rows), 1),
                [&](int64_t begin, int64_t end) {
                  const int64_t first = begin * kernel.rows;
                  kernel.packLhs[c.lhs][1](
                      {at(lhs, first * c.k, c.lhs), c.k, c.m - first, c.k}, end - begin,
                      sizes.steps, lhsBlock.data() + begin * sizes.steps * kernel.lhsStepBytes);
                });
  int32_t *blockOfRow = nullptr;
  if (blocks) {
    reserve(blockRows, static_cast<uint64_t>(c.k) * sizeof(int32_t));
    blockOfRow = reinterpret_cast<int32_t *>(blockRows.data());
    for (int64_t k = 0; k < c.k; ++k)
      blockOfRow[k] = static_cast<int32_t>(blocks->blockOf(k));
  }
  const int64_t count = divideUp(c.n, columnsOfTile);
  const int64_t bytes = c.k * (c.packedRhs ? columnsOfTile / 2 : columnsOfTile);
  const int64_t parts = std::min<int64_t>(count, team.threads());
  reserve(tileScratch, static_cast<uint64_t>(parts * sizes.total()) * sizeof(float));
  auto *scratch = reinterpret_cast<float *>(tileScratch.data());
  team.forRange(parts, 1, [&](int64_t begin, int64_t end) {
    for (int64_t part = begin; part < end; ++part) {
      float *own = scratch + part * sizes.total();
      const Scratch places{own, own + sizes.panel, own + sizes.panel + sizes.sums};
      for (int64_t tile = count * part / parts; tile < count * (part + 1) / parts; ++tile) {
        const int64_t first = tile * columnsOfTile;
        if (blocks)
          loadAdjustments(kernels, c, *blocks, first, places.adjustments);
        multiplyTile(weights, sizes, c, lhsBlock.data(), tiles + tile * bytes, blockOfRow, places);
        const auto columns = static_cast<size_t>(std::min(columnsOfTile, c.n - first));
        for (int64_t m = 0; m < c.m; ++m)
          std::memcpy(sums + m * c.n + first, places.sums + m * columnsOfTile,
                      columns * sizeof(float));
      }
    }
  });
}

} // namespace mpc::rt
