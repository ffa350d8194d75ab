// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Packed weights with scales per block: read as they are stored where tiles of them are kept, else
// dequantized to the type of the left operand.
#include "runtime/base/element.h"
#include "runtime/drivers/cpu/contractor.h"
#include "runtime/drivers/cpu/onednn_blocks.h"

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
    kept.columnFactors[static_cast<size_t>(step + evenFirstPlace(i % columnStep))] =
        factors[static_cast<size_t>(i)];
  }
  if (exact)
    kept.reciprocals.resize(static_cast<size_t>(ceilDivide(count, pairRun) * pairRun), 1.0f);
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
  for (size_t place = 0; place < rows; ++place) {
    const int64_t row = kept.rowAt(static_cast<int64_t>(place));
    kept.blockOfRow[place] = static_cast<int32_t>(blocks.blockOf(row));
    if (blocks.divisors)
      kept.divisors[place] = blocks.divisors[row];
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
          const int64_t place = n < c.n ? blocks.placeOf(c, block, n) : -1;
          to[i] = place < 0 ? 0.0f : static_cast<float>(blocks.zeroAt(c, place));
          to[columns + i] =
              place < 0 ? 0.0f : static_cast<float>(loadElement(c.lhs, blocks.scale, place));
        }
      }
  });
}

const WeightScales &Contractor::findBlocks(const mpc_rt_contract_t &descriptor,
                                           const Contraction &shape, const BlockScales &blocks) {
  WeightScales &kept = weightScales[{descriptor.rhs_variable, shape.lhs}];
  if (kept.keptVersion != weightVersion) {
    fillBlockWeights(team, shape, blocks, kept);
    kept.keptVersion = weightVersion;
  }
  return kept;
}

bool Contractor::haveFourBits(const mpc_rt_contract_t &descriptor, const Contraction &c,
                              const void *rhs) {
  auto &[version, fit] = fourBits[descriptor.rhs_variable];
  if (version != weightVersion) {
    const auto *bytes = static_cast<const uint8_t *>(rhs);
    fit = std::all_of(bytes, bytes + c.rhsElements(), [](uint8_t number) { return number < 16; });
    version = weightVersion;
  }
  return fit;
}

void Contractor::dequantize(const Contraction &c, const int8_t *rhs, const BlockScales *blocks,
                            void *to) {
  // Columns that lie together are read along k, and written in pieces of cache lines.
  constexpr int64_t columnsAtOnce = 64;
  team.forRange(ceilDivide(c.n, columnsAtOnce),
                std::max<int64_t>(conversionGrain / (columnsAtOnce * std::max<int64_t>(c.k, 1)), 1),
                [&](int64_t begin, int64_t end) {
                  const int64_t last = std::min(end * columnsAtOnce, c.n);
                  for (int64_t first = begin * columnsAtOnce; first < last; first += columnsAtOnce)
                    for (int64_t k = 0; k < c.k; ++k)
                      for (int64_t n = first; n < std::min(first + columnsAtOnce, last); ++n) {
                        double number = weightAt(c, rhs, k, n);
                        if (blocks) {
                          const int64_t place = blocks->placeOf(c, blocks->blockOf(k), n);
                          number = (number - blocks->zeroAt(c, place)) *
                                   loadElement(c.lhs, blocks->scale, place);
                          if (blocks->divisors)
                            number = roundElement(c.lhs, number) / double(blocks->divisors[k]);
                        }
                        storeElement(c.lhs, to, k * c.n + n, number);
                      }
                });
}

mpc_rt_status_t Contractor::contractCopy(const mpc_rt_contract_t &descriptor,
                                         const Contraction &shape, const void *lhs, const void *rhs,
                                         const BlockScales *blocks, const void *bias, void *out,
                                         const ContractionExtras &extras, int64_t batch) {
  PackedWeights &copy = dequantized[{descriptor.rhs_variable, shape.lhs}];
  const bool keep = weightsConstant && descriptor.rhs_variable >= 0;
  if (!keep || copy.keptVersion != weightVersion) {
    reserve(copy.buffer, shape.rhsElements() * dtypeSize(shape.lhs));
    copy.keptVersion = 0;
    dequantize(shape, static_cast<const int8_t *>(rhs), blocks, copy.buffer.data());
    if (keep)
      copy.keptVersion = weightVersion;
  }
  mpc_rt_contract_t wide = descriptor;
  wide.rhs_dtype = descriptor.lhs_dtype;
  wide.flags &= ~static_cast<uint32_t>(MPC_RT_CONTRACT_PACKED_RHS | MPC_RT_CONTRACT_TRANSPOSE_RHS);
  return contract(wide, lhs, copy.buffer.data(), bias, out, extras, batch);
}

mpc_rt_status_t Contractor::contractBlocks(const mpc_rt_contract_t &descriptor, const void *lhs,
                                           const void *rhs, const BlockScales &blocks,
                                           const void *bias, void *out, int64_t batch) {
  Contraction shape;
  if (auto status = resolveBlocks(descriptor, lhs, rhs, blocks, bias, out, batch, shape))
    return status;
  if (shape.outElements() == 0)
    return MPC_RT_OK;
  if (shape.unsignedRhs && weightsConstant && descriptor.rhs_variable >= 0)
    shape.packedRhs = haveFourBits(descriptor, shape, rhs);
  if (shape.packedRhs && readsTiles(descriptor, shape, &blocks)) {
    contractTiles(descriptor, shape, lhs, rhs, &blocks, bias, out);
    list(descriptor, shape, batch, "integer_blocks");
    return MPC_RT_OK;
  }
  return contractCopy(descriptor, shape, lhs, rhs, &blocks, bias, out, /*extras=*/{}, batch);
}

} // namespace mpc::rt
