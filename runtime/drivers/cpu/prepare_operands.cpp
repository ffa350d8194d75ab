// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operands of contractions as a kernel takes them: packed, widened or rounded, and kept where they
// are a variable's.
#include "runtime/drivers/cpu/contractor.h"
#include "runtime/drivers/cpu/onednn_blocks.h"

#include <algorithm>
#include <cstring>

namespace mpc::rt {

using onednn::Element;

const void *Contractor::findPacked(PackedWeights &entry, bool &keep) {
  keep = false;
  if (entry.keptVersion == state.version)
    return entry.buffer.data();
  if (packedOnceHolds == &entry && entry.packedVersion == state.version)
    return packedOnce.data();
  // Packed before in this run, and something else since: a loop over time with several products.
  keep = state.constant || entry.packedVersion == state.version;
  entry.packedVersion = state.version;
  return nullptr;
}

const void *Contractor::packForSteps(int32_t variable, const Contraction &c,
                                     BlockedProduct &product, const void *rhs, bool packs) {
  PackedWeights &entry = weights[{variable, c.transposeRhs, c.k, c.n, &product}];
  if (entry.keptVersion == state.version)
    return entry.buffer.data();
  return packInto(&entry, /*keep=*/true, product.packedBytes(c), [&](uint8_t *to) {
    if (packs)
      product.packRhs(c, rhs, to);
  });
}

const void *Contractor::prepareRhs(Plan &plan, int32_t variable, const void *rhs) {
  const Contraction &c = plan.shape;
  PackedWeights *entry = nullptr;
  bool keep = false;
  if (variable >= 0 && plan.packed) {
    entry = &weights[{variable, c.transposeRhs, c.k, c.n, plan.packed.get()}];
    if (const void *ready = findPacked(*entry, keep))
      return ready;
  }
  if (plan.widenRhs) {
    reserve(rhsWhole, c.rhsElements() * sizeof(float));
    float *wide = rhsWhole.floats();
    if (c.rhs == MPC_RT_INT8)
      widenIntegers(team, c, static_cast<const int8_t *>(rhs), wide);
    else
      widen(c.rhs, rhs, wide, c.rhsElements());
    rhs = rhsWhole.data();
  }
  if (!plan.packed)
    return rhs;
  auto from = plan.element == Element::int8                ? Element::int8
              : c.rhs == MPC_RT_BFLOAT16 && !plan.widenRhs ? Element::bfloat16
                                                           : Element::float32;
  return packInto(entry, keep, plan.packed->bytes(), [&](uint8_t *to) {
    plan.packed->pack(rhs, from, c.transposeRhs, to, libraryScratch);
  });
}

const void *Contractor::prepareLhs(const Plan &plan, const void *lhs, int64_t first,
                                   int64_t units) {
  const Contraction &c = plan.shape;
  bool columns = c.transposeLhs && !plan.batched; // rows of the block are columns in memory
  int64_t offset = plan.batched ? first * c.m * c.k : columns ? first : first * c.k;
  const void *block = at(lhs, offset, c.lhs);
  if (!plan.widenLhs)
    return block;
  int64_t elements = units * (plan.batched ? c.m * c.k : c.k);
  reserve(lhsBlock, static_cast<uint64_t>(elements) * sizeof(float));
  float *wide = lhsBlock.floats();
  if (!columns) {
    widen(c.lhs, block, wide, static_cast<uint64_t>(elements));
    return wide;
  }
  auto convert = c.lhs == MPC_RT_BFLOAT16 ? kernels.widenBFloat16 : kernels.widenFloat16;
  int64_t grain = std::max<int64_t>(conversionGrain / units, 1);
  team.forRange(c.k, grain, [&](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; ++k)
      convert(static_cast<const uint16_t *>(block) + k * c.m, wide + k * units,
              static_cast<size_t>(units));
  });
  return wide;
}

const float *Contractor::prepareBias(const Contraction &c, const void *bias) {
  if (!c.hasBias || c.bias == MPC_RT_FLOAT32)
    return static_cast<const float *>(bias);
  reserve(biasWide, static_cast<uint64_t>(c.n) * sizeof(float));
  float *wide = biasWide.floats();
  widen(c.bias, bias, wide, static_cast<uint64_t>(c.n));
  return wide;
}

const void *Contractor::roundLhs(const Contraction &c, const void *lhs) {
  if (!c.roundsLhs)
    return lhs;
  reserveRounded(c);
  const auto round = c.lhs == MPC_RT_BFLOAT16 ? kernels.roundBFloat16 : kernels.roundFloat16;
  auto *rounded = reinterpret_cast<uint16_t *>(lhsRounded.data());
  team.forRange(static_cast<int64_t>(c.lhsElements()), conversionGrain,
                [&](int64_t begin, int64_t end) {
                  round(static_cast<const float *>(lhs) + begin, rounded + begin,
                        static_cast<size_t>(end - begin));
                });
  return rounded;
}

} // namespace mpc::rt
