// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operands of contractions as a kernel takes them: packed, widened or rounded, and kept where they
// are a variable's.
#include "runtime/drivers/cpu/contract/contraction_memory.h"
#include "runtime/drivers/cpu/kernels/work_blocks.h"

#include <algorithm>

namespace mpc::rt {

const void *ContractionMemory::findPacked(PackedWeights &entry, bool &keep) {
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

void ContractionMemory::dropPacked(int32_t variable) {
  packedOnceHolds = nullptr;
  for (auto entry = weights.begin(); entry != weights.end();)
    entry = std::get<0>(entry->first) == variable ? weights.erase(entry) : ++entry;
  integers.dropTiles(variable);
}

void ContractionMemory::reserveBias(const Contraction &c) {
  if (c.hasBias && c.bias != MPC_RT_FLOAT32)
    reserve(biasWide, static_cast<uint64_t>(c.n) * sizeof(float));
}

const float *ContractionMemory::prepareBias(const Contraction &c, const void *bias) {
  if (!c.hasBias || c.bias == MPC_RT_FLOAT32)
    return static_cast<const float *>(bias);
  reserveBias(c);
  float *wide = biasWide.floats();
  widen(c.bias, bias, wide, static_cast<uint64_t>(c.n));
  return wide;
}

void ContractionMemory::reserveRounded(const Contraction &c) {
  if (c.roundsLhs)
    reserve(lhsRounded, c.lhsElements() * dtypeSize(c.lhs));
}

const void *ContractionMemory::roundLhs(const Contraction &c, const void *lhs) {
  if (!c.roundsLhs)
    return lhs;
  reserveRounded(c);
  const auto round = c.lhs == MPC_RT_BFLOAT16 ? vectors.roundBFloat16 : vectors.roundFloat16;
  auto *rounded = reinterpret_cast<uint16_t *>(lhsRounded.data());
  team.forRange(static_cast<int64_t>(c.lhsElements()), conversionGrain,
                [&](int64_t begin, int64_t end) {
                  round(static_cast<const float *>(lhs) + begin, rounded + begin,
                        static_cast<size_t>(end - begin));
                });
  return rounded;
}

void *ContractionMemory::resultMemory(const Contraction &c, void *out) {
  if (out)
    return out;
  reserve(consumedResult, c.outElements() * dtypeSize(c.out));
  return consumedResult.data();
}

uint64_t ContractionMemory::bytes() const noexcept {
  uint64_t total = lhsBlock.size() + rhsWhole.size() + packedOnce.size() + sumBlock.size() +
                   biasWide.size() + libraryScratch.size() + consumedResult.size() +
                   lhsRounded.size() + integers.bytes();
  for (auto &entry : weights)
    total += entry.second.buffer.size();
  return total;
}

} // namespace mpc::rt
