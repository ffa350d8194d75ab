// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A few rows by 4-bit weights: what takes the time is to make floating numbers of them. A block of
// a column has 16 different weights, which are made once and looked up, up to 32 at a time: weights
// of one column follow each other here, and lanes are summed at its end.
#include "runtime/drivers/cpu/contract/integer_weights.h"
#include "runtime/drivers/cpu/kernels/work_blocks.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace mpc::rt {
namespace {

int64_t chunksOf(const Contraction &c) { return ceilDivide(c.k, columnChunk); }

uint64_t columnBytes(const Contraction &c) {
  constexpr int64_t together = ColumnWork::columns;
  return static_cast<uint64_t>(ceilDivide(c.n, together) * together * chunksOf(c) * columnChunk /
                               2);
}

void packColumns(ThreadTeam &team, const Contraction &c, const int8_t *rhs,
                 const WeightScales *blocks, int8_t *to) {
  constexpr int64_t together = ColumnWork::columns;
  const int64_t chunks = chunksOf(c);
  const auto numberAt = [&](int64_t index, int64_t column) -> int {
    if (index < c.k)
      return weightAt(c, rhs, blocks ? blocks->rowAt(index) : index, column);
    return blocks ? blocks->fillingNumber(column) : 0;
  };
  team.forRange(
      ceilDivide(c.n, together) * together, std::max<int64_t>(conversionGrain / c.k, 1),
      [&](int64_t begin, int64_t end) {
        for (int64_t column = begin; column < end; ++column)
          for (int64_t chunk = 0; chunk < chunks; ++chunk) {
            uint16_t words[columnStep] = {};
            const int64_t first = chunk * columnChunk;
            for (int64_t i = 0; column < c.n && i < columnChunk; ++i) {
              const int number = numberAt(first + i, column) & 15;
              words[i % columnStep] |= static_cast<uint16_t>(number << (i / columnStep * 4));
            }
            std::memcpy(to + ((column / together * chunks + chunk) * together + column % together) *
                                 sizeof(words),
                        words, sizeof(words));
          }
      });
}

// Rows of lhs in steps of columnStep, the last one filled up with zeros.
template <typename Element>
void fillSteps(const Element *from, int64_t k, bool evenFirst, Element *to) {
  for (int64_t step = 0; step < k; step += columnStep) {
    const int64_t count = std::min(columnStep, k - step);
    if (count < columnStep)
      std::fill_n(to + step, columnStep, Element{0});
    for (int64_t i = 0; i < count; ++i)
      to[step + (evenFirst ? evenFirstIndex(i) : i)] = from[step + i];
  }
}

} // namespace

const ColumnKernel *IntegerWeights::findColumnKernel(const Contraction &c,
                                                     const WeightScales *blocks) const {
  const WeightKernel *weights = weightKernels[c.lhs];
  if (!weights || !c.packedRhs || (blocks && !blocks->blockSteps))
    return nullptr;
  const bool hasFactors = blocks && !blocks->divisors.empty();
  if (hasFactors && blocks->columnFactors.empty())
    return nullptr;
  // With more rows, each number that panels and tiles make is used often enough (Zen 5), unless
  // they make many for columns that do not exist.
  const int64_t mostRows = c.lhs == MPC_RT_BFLOAT16 ? (hasFactors ? 8 : 12) : blocks ? 4 : 3;
  const auto rounded = [&](int64_t together) { return ceilDivide(c.n, together) * together; };
  if (c.m * rounded(ColumnWork::columns) > mostRows * rounded(static_cast<int64_t>(tileColumns)))
    return nullptr;
  const ColumnKernel &kernel = weights->columns[c.lhs][hasFactors ? 1 : 0];
  return kernel.multiply[0] ? &kernel : nullptr;
}

void IntegerWeights::orderSteps(const ColumnKernel &kernel, const Contraction &c, const void *lhs) {
  const int64_t stride = ceilDivide(c.k, columnStep) * columnStep;
  const bool isNarrow = c.lhs == MPC_RT_BFLOAT16;
  const int64_t width = isNarrow ? sizeof(uint16_t) : sizeof(float);
  const void *wide = isNarrow ? lhs : widenRows(c, lhs);
  reserve(scratch, static_cast<uint64_t>(c.m * stride * width));
  for (int64_t m = 0; lhs && m < c.m; ++m) {
    uint8_t *to = scratch.data() + m * stride * width;
    if (isNarrow)
      fillSteps(static_cast<const uint16_t *>(wide) + m * c.k, c.k, kernel.evenFirst,
                reinterpret_cast<uint16_t *>(to));
    else
      fillSteps(static_cast<const float *>(wide) + m * c.k, c.k, kernel.evenFirst,
                reinterpret_cast<float *>(to));
  }
}

void IntegerWeights::multiplyColumns(const ColumnKernel &kernel,
                                     const mpc_rt_contract_t &descriptor, const Contraction &c,
                                     const void *lhs, const int8_t *rhs, const WeightScales *blocks,
                                     float *sums) {
  const int8_t *columns = findTiles(descriptor, c, rhs, Layout::columns, columnBytes(c),
                                    [&](int8_t *to) { packColumns(team, c, rhs, blocks, to); });
  orderSteps(kernel, c, lhs);
  if (!sums)
    return;
  const int64_t steps = ceilDivide(c.k, columnStep), stride = steps * columnStep;
  const int64_t width = c.lhs == MPC_RT_BFLOAT16 ? sizeof(uint16_t) : sizeof(float);
  // Numbers without scales, as one block.
  static constexpr auto asTheyAre = [] {
    std::array<float, 2 * tileColumns> adjustments{};
    for (size_t i = tileColumns; i < adjustments.size(); ++i)
      adjustments[i] = 1.0f;
    return adjustments;
  }();
  static constexpr int32_t firstBlock = 0;
  constexpr int64_t rowsAtOnce = ColumnWork::mostRows, together = ColumnWork::columns;
  constexpr auto ofTile = static_cast<int64_t>(tileColumns);
  const int64_t bytes = chunksOf(c) * columnChunk / 2;
  team.forRange(ceilDivide(c.n, together), std::max<int64_t>(65536 / (together * bytes), 1),
                [&](int64_t begin, int64_t end) {
                  for (int64_t n = begin * together; n < std::min(end * together, c.n);
                       n += together) {
                    ColumnWork work;
                    work.numbers = columns + n * bytes;
                    work.count = std::min(together, c.n - n);
                    work.adjustments =
                        blocks ? blocks->adjustmentsOf(n / ofTile) + n % ofTile : asTheyAre.data();
                    work.blocks = blocks ? blocks->blockOfRow.data() : &firstBlock;
                    work.factors = blocks ? blocks->columnFactors.data() : nullptr;
                    work.steps = steps;
                    work.blockSteps = blocks ? blocks->blockSteps : steps;
                    work.lhsStride = stride;
                    work.sumStride = c.n;
                    for (int64_t m = 0; m < c.m; m += rowsAtOnce) {
                      work.lhs = scratch.data() + m * stride * width;
                      work.sums = sums + m * c.n + n;
                      kernel.multiply[std::min(rowsAtOnce, c.m - m) - 1](work);
                    }
                  }
                });
}

} // namespace mpc::rt
