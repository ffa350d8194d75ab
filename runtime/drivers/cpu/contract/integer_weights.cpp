// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which way rows are multiplied by integer weights, and what is kept of these. Of few rows what
// counts is how many bytes are read: the integers are read as they are.
#include "runtime/drivers/cpu/contract/integer_weights.h"
#include "runtime/base/element.h"
#include "runtime/drivers/cpu/contract/amx_weights.h"
#include "runtime/drivers/cpu/kernels/row_passes.h"
#include "runtime/drivers/cpu/kernels/work_blocks.h"

#include <algorithm>
#include <cstring>

namespace mpc::rt {
namespace {

// Each in the dtype of lhs, rounded where Keras rounds. `blocks` may be null.
void dequantize(ThreadTeam &team, const Contraction &c, const int8_t *rhs,
                const BlockScales *blocks, void *to) {
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
                          const int64_t index = blocks->indexOf(c, blocks->blockOf(k), n);
                          number = (number - blocks->zeroAt(c, index)) *
                                   loadElement(c.lhs, blocks->scale, index);
                          if (blocks->divisors)
                            number = roundElement(c.lhs, number) / double(blocks->divisors[k]);
                        }
                        storeElement(c.lhs, to, k * c.n + n, number);
                      }
                });
}

} // namespace

void widenIntegers(ThreadTeam &team, const Contraction &c, const int8_t *rhs, float *to) {
  if (!c.packedRhs) {
    team.forRange(static_cast<int64_t>(c.rhsElements()), conversionGrain,
                  [&](int64_t begin, int64_t end) {
                    for (int64_t i = begin; i < end; ++i)
                      to[i] = rhs[i];
                  });
    return;
  }
  team.forRange(c.k, std::max<int64_t>(conversionGrain / c.n, 1), [&](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; ++k)
      for (int64_t n = 0; n < c.n; ++n)
        to[k * c.n + n] = weightAt(c, rhs, k, n);
  });
}

IntegerWeights::IntegerWeights(ThreadTeam &team, int isa, const WeightState &state, bool ownKernels)
    : team(team), kernels(vectorKernels(isa)), state(state),
      useAmx(ownKernels && bfloat16MicroKernel(isa) == &amxBFloat16) {
  if (ownKernels)
    for (int dtype : {MPC_RT_FLOAT32, MPC_RT_BFLOAT16, MPC_RT_FLOAT16})
      weightKernels[dtype] = weightKernel(isa, dtype);
}

Verdict IntegerWeights::readsTiles(const mpc_rt_contract_t &descriptor, const Contraction &c,
                                   const BlockScales *scales) {
  // A kept copy in the dtype of lhs is worth its memory for many rows, if not AMX is faster still.
  constexpr int64_t mostTileRows = 32;
  if (c.rhs != MPC_RT_INT8 || c.batch != 1 || c.k == 0 || c.transposeLhs || c.accumulate ||
      !state.keeps(descriptor))
    return refused("integers that do not stay, or operands in another order");
  if (c.m <= mostTileRows)
    return taken("at most 32 rows by integers that stay", "Zen 4 and 5");
  amx::Scales found;
  return useAmx && (!scales || amx::findScales(c, findBlocks(descriptor, c, *scales), found))
             ? taken("tiles of AMX widen integers that stay")
             : refused("many rows are worth a copy of the weights");
}

void IntegerWeights::multiply(const mpc_rt_contract_t &descriptor, const Contraction &c,
                              const void *lhs, const void *rhs, const BlockScales *scales,
                              float *sums) {
  const WeightScales *blocks = nullptr;
  if (scales) {
    blocks = &findBlocks(descriptor, c, *scales);
    lhs = orderRows(c, lhs, *blocks);
  }
  multiplyOrReserve(descriptor, c, lhs, static_cast<const int8_t *>(rhs), blocks, sums);
}

void IntegerWeights::reserveFor(const mpc_rt_contract_t &descriptor, const Contraction &c) {
  multiplyOrReserve(descriptor, c, /*lhs=*/nullptr, /*rhs=*/nullptr, /*blocks=*/nullptr,
                    /*sums=*/nullptr);
}

void IntegerWeights::multiplyOrReserve(const mpc_rt_contract_t &descriptor, const Contraction &c,
                                       const void *lhs, const int8_t *numbers,
                                       const WeightScales *blocks, float *sums) {
  amx::Scales amxScales;
  if (useAmx && (!blocks || amx::findScales(c, *blocks, amxScales)))
    return multiplyAmx(descriptor, c, lhs, numbers, blocks, sums);
  if (const ColumnKernel *columns = findColumnKernel(c, blocks))
    return multiplyColumns(*columns, descriptor, c, lhs, numbers, blocks, sums);
  // A few rows by numbers as they are: their tiles are multiplied where they are widened.
  constexpr int64_t mostStreamedRows = 4;
  const WeightKernel *panels = weightKernels[c.lhs];
  if (panels && (blocks || c.m > mostStreamedRows))
    return multiplyPanels(*panels, descriptor, c, lhs, numbers, blocks, sums);
  multiplyVectors(descriptor, c, lhs, numbers, blocks, sums);
}

void IntegerWeights::multiplyAmx(const mpc_rt_contract_t &descriptor, const Contraction &c,
                                 const void *lhs, const int8_t *rhs, const WeightScales *blocks,
                                 float *sums) {
  const int8_t *numbers =
      findTiles(descriptor, c, rhs, Layout::amx, amx::weightBytes(c),
                [&](int8_t *to) { amx::packWeights(team, c, rhs, blocks, to); });
  amx::Scales scales;
  if (blocks)
    amx::findScales(c, *blocks, scales);
  reserve(preparedRows, amx::rowBytes(c));
  reserve(scratch, amx::scratchBytes(c) * team.threads());
  if (!sums)
    return;
  amx::packRows(team, c, lhs, preparedRows.data());
  amx::multiply(team, c, preparedRows.data(), numbers, scales, sums, scratch.data());
}

const int8_t *IntegerWeights::findTiles(const Int8Kernel &kernel,
                                        const mpc_rt_contract_t &descriptor, const Contraction &c,
                                        const int8_t *rhs) {
  return findTiles(descriptor, c, rhs, Layout::int8, kernel.weightBytes(c),
                   [&](int8_t *to) { kernel.packWeights(team, c, rhs, to); });
}

Buffer &IntegerWeights::reserveCopy(const mpc_rt_contract_t &descriptor, const Contraction &c) {
  PackedWeights &copy = copies[{descriptor.rhs_variable, c.lhs}];
  reserve(copy.buffer, c.rhsElements() * dtypeSize(c.lhs));
  return copy.buffer;
}

const void *IntegerWeights::findCopy(const mpc_rt_contract_t &descriptor, const Contraction &c,
                                     const void *rhs, const BlockScales *scales) {
  PackedWeights &copy = copies[{descriptor.rhs_variable, c.lhs}];
  const bool keep = state.keeps(descriptor);
  if (!keep || copy.keptVersion != state.version) {
    reserveCopy(descriptor, c);
    copy.keptVersion = 0;
    dequantize(team, c, static_cast<const int8_t *>(rhs), scales, copy.buffer.data());
    if (keep)
      copy.keptVersion = state.version;
  }
  return copy.buffer.data();
}

const WeightScales &IntegerWeights::findBlocks(const mpc_rt_contract_t &descriptor,
                                               const Contraction &shape,
                                               const BlockScales &blocks) {
  WeightScales &kept = weightScales[{descriptor.rhs_variable, shape.lhs}];
  if (kept.keptVersion != state.version) {
    fillBlockWeights(team, shape, blocks, kept);
    kept.keptVersion = state.version;
  }
  return kept;
}

bool IntegerWeights::haveFourBits(const mpc_rt_contract_t &descriptor, const Contraction &c,
                                  const void *rhs) {
  auto &[version, fit] = fourBits[descriptor.rhs_variable];
  if (version != state.version) {
    const auto *bytes = static_cast<const uint8_t *>(rhs);
    fit = std::all_of(bytes, bytes + c.rhsElements(), [](uint8_t number) { return number < 16; });
    version = state.version;
  }
  return fit;
}

const void *IntegerWeights::orderRows(const Contraction &c, const void *lhs,
                                      const WeightScales &blocks) {
  if (blocks.order.empty())
    return lhs;
  const auto width = static_cast<int64_t>(dtypeSize(c.lhs));
  reserve(orderedRows, c.lhsElements() * static_cast<uint64_t>(width));
  team.forRange(c.m, std::max<int64_t>(conversionGrain / c.k, 1), [&](int64_t begin, int64_t end) {
    for (int64_t m = begin; m < end; ++m) {
      const uint8_t *from = at(lhs, m * c.k, c.lhs);
      uint8_t *to = orderedRows.data() + m * c.k * width;
      for (int64_t index = 0; index < c.k; ++index)
        std::memcpy(to + index * width, from + blocks.rowAt(index) * width,
                    static_cast<size_t>(width));
    }
  });
  return orderedRows.data();
}

const float *IntegerWeights::widenRows(const Contraction &c, const void *lhs) {
  if (c.lhs == MPC_RT_FLOAT32)
    return static_cast<const float *>(lhs);
  reserve(preparedRows, c.lhsElements() * sizeof(float));
  if (!lhs)
    return nullptr;
  float *wide = preparedRows.floats();
  widenElements(team, kernels, c.lhs, lhs, wide, static_cast<int64_t>(c.lhsElements()));
  return wide;
}

void IntegerWeights::dropTiles(int32_t variable) {
  for (auto entry = tiles.begin(); entry != tiles.end();)
    entry = std::get<0>(entry->first) == variable ? tiles.erase(entry) : ++entry;
}

uint64_t IntegerWeights::bytes() const noexcept {
  uint64_t total = preparedRows.size() + orderedRows.size() + scratch.size();
  for (auto &entry : tiles)
    total += entry.second.buffer.size();
  for (auto &entry : copies)
    total += entry.second.buffer.size();
  for (auto &entry : weightScales)
    total += entry.second.bytes();
  return total;
}

} // namespace mpc::rt
