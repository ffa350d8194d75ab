// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Scales per block, brought into the order of the tiles, with the factors and reciprocals that
// kernels use in place of divisions.
#include "runtime/drivers/cpu/contract/weight_scales.h"
#include "runtime/base/element.h"
#include "runtime/drivers/cpu/kernels/work_blocks.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace mpc::rt {
namespace {

// bfloat16 has 8 bits: a quotient of two such numbers is no tie of a rounding to it and at least
// 2^-17 of itself away from one, 64 times as much as the product with a rounded reciprocal may be
// off (docs/numerics.md). Reciprocals have to be normal numbers.
bool haveReciprocals(mpc_rt_dtype_t dtype, const std::vector<float> &divisors) {
  return dtype == MPC_RT_BFLOAT16 &&
         std::all_of(divisors.begin(), divisors.end(), [](float divisor) {
           return std::abs(divisor) > 0x1p-64f && std::abs(divisor) < 0x1p64f;
         });
}

void fillFactors(mpc_rt_dtype_t dtype, WeightScales &kept) {
  kept.reciprocals.clear();
  kept.columnFactors.clear();
  if (kept.divisors.empty())
    return;
  const bool exact = haveReciprocals(dtype, kept.divisors);
  if (exact)
    for (float divisor : kept.divisors)
      kept.reciprocals.push_back(1.0f / divisor);
  else if (dtype == MPC_RT_BFLOAT16)
    return;
  const std::vector<float> &factors = exact ? kept.reciprocals : kept.divisors;
  const auto count = static_cast<int64_t>(kept.divisors.size());
  kept.columnFactors.resize(static_cast<size_t>(ceilDivide(count, columnStep) * columnStep), 1.0f);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t step = i / columnStep * columnStep;
    kept.columnFactors[static_cast<size_t>(step + evenFirstIndex(i % columnStep))] =
        factors[static_cast<size_t>(i)];
  }
  if (exact)
    kept.reciprocals.resize(static_cast<size_t>(ceilDivide(count, pairRun) * pairRun), 1.0f);
}

// Computes blockSteps for rows with these blocks.
int64_t stepsOfBlocks(const std::vector<int32_t> &blockOfRow) {
  const auto count = static_cast<int64_t>(blockOfRow.size());
  const int32_t *of = blockOfRow.data();
  int64_t rows = std::find_if(of, of + count, [&](int32_t block) { return block != *of; }) - of;
  if (rows == count)
    rows = ceilDivide(count, columnStep) * columnStep;
  if (rows % columnStep)
    return 0;
  for (int64_t row = 0; row < count; ++row) {
    const bool begins = row % rows == 0;
    if (row && begins == (of[row] == of[row - 1]))
      return 0;
  }
  return rows / columnStep;
}

bool fitsPairs(const Contraction &c, const BlockScales &blocks, const WeightScales &kept) {
  for (size_t row = 1; row < kept.blockOfRow.size(); ++row)
    if (row % pairRun && kept.blockOfRow[row] != kept.blockOfRow[row - 1])
      return false;
  for (int64_t i = 0; i < blocks.count * c.n; ++i)
    if (!(std::abs(loadElement(c.lhs, blocks.scale, i)) < 0x1p100))
      return false;
  return kept.divisors.empty() || !kept.reciprocals.empty();
}

} // namespace

int8_t WeightScales::fillingNumber(int64_t n) const {
  constexpr auto columns = static_cast<int64_t>(tileColumns);
  const float zero = adjustmentsOf(n / columns)[blockOfRow.back() * 2 * columns + n % columns];
  return static_cast<int8_t>(std::clamp(zero, -8.0f, 7.0f));
}

void fillBlockWeights(ThreadTeam &team, const Contraction &c, const BlockScales &blocks,
                      WeightScales &kept) {
  constexpr auto columns = static_cast<int64_t>(tileColumns);
  const auto rows = static_cast<size_t>(c.k);
  const int64_t tiles = ceilDivide(c.n, columns);
  kept.count = blocks.count;
  kept.order.clear();
  if (!std::is_sorted(blocks.places, blocks.places + rows)) {
    kept.order.resize(rows);
    std::iota(kept.order.begin(), kept.order.end(), int64_t{0});
    std::sort(kept.order.begin(), kept.order.end(), [&](int64_t a, int64_t b) {
      return std::pair(blocks.blockOf(a), a) < std::pair(blocks.blockOf(b), b);
    });
  }
  kept.blockOfRow.resize(rows);
  kept.divisors.resize(blocks.divisors ? rows : 0);
  for (size_t index = 0; index < rows; ++index) {
    const int64_t row = kept.rowAt(static_cast<int64_t>(index));
    kept.blockOfRow[index] = static_cast<int32_t>(blocks.blockOf(row));
    if (blocks.divisors)
      kept.divisors[index] = blocks.divisors[row];
  }
  fillFactors(c.lhs, kept);
  kept.blockSteps = stepsOfBlocks(kept.blockOfRow);
  kept.fitsPairs = c.lhs == MPC_RT_BFLOAT16 && fitsPairs(c, blocks, kept);
  reserve(kept.adjustments,
          static_cast<uint64_t>(tiles * blocks.count * 2 * columns) * sizeof(float));
  float *adjustments = kept.adjustments.floats();
  team.forRange(tiles, 1, [&](int64_t begin, int64_t end) {
    for (int64_t tile = begin; tile < end; ++tile)
      for (int64_t block = 0; block < blocks.count; ++block) {
        float *to = adjustments + (tile * blocks.count + block) * 2 * columns;
        for (int64_t i = 0, n = tile * columns; i < columns; ++i, ++n) {
          const int64_t index = n < c.n ? blocks.indexOf(c, block, n) : -1;
          to[i] = index < 0 ? 0.0f : static_cast<float>(blocks.zeroAt(c, index));
          to[columns + i] =
              index < 0 ? 0.0f : static_cast<float>(loadElement(c.lhs, blocks.scale, index));
        }
      }
  });
}

} // namespace mpc::rt
