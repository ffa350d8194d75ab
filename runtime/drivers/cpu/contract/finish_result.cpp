// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Passes over a result, or over rhs, by all threads.
#include "runtime/drivers/cpu/contract/finish_result.h"
#include "runtime/drivers/cpu/kernels/work_blocks.h"
#include "runtime/drivers/result_kernel.h"

#include <algorithm>
#include <atomic>
#include <cstring>

namespace mpc::rt {

static uint64_t largestFloat64(const void *values, uint64_t count) {
  uint64_t most = 0;
  for (uint64_t i = 0; i < count; ++i)
    most = std::max(most, static_cast<const uint64_t *>(values)[i] << 1 >> 1);
  return most;
}

void storeLargest(mpc_rt_dtype_t dtype, uint64_t bits, void *largest) {
  std::memcpy(largest, &bits, dtypeSize(dtype));
}

void finishResult(const ContractionCall &call, ContractionMemory &memory, void *out,
                  bool runsKernel) {
  const Contraction &c = call.shape;
  const ContractionExtras &extras = call.extras;
  if (extras.rhsSums)
    sumColumns(c, memory, call.rhs, extras.rhsSums);
  if (c.makesMask || c.readsMask)
    applyBits(c, memory, extras.bits, 0, out, c.m);
  if (extras.largest)
    storeLargest(c.out,
                 c.out == MPC_RT_FLOAT64
                     ? largestFloat64(out, c.outElements())
                     : largestOf(c.out, memory, out, static_cast<int64_t>(c.outElements())),
                 extras.largest);
  if (extras.kernel && runsKernel)
    extras.kernel->run(memory.team, out, c.outElements());
}

// Row by row, as a blocked product does while it packs.
void sumColumns(const Contraction &c, ContractionMemory &memory, const void *rhs, void *sums) {
  auto *to = static_cast<float *>(sums);
  constexpr int64_t columns = 64; // some lines of memory of each row
  const int64_t least = std::max<int64_t>(conversionGrain / std::max<int64_t>(c.k * columns, 1), 1);
  const int64_t parts = ceilDivide(c.n, columns);
  memory.team.forRange(
      parts, memory.team.grainOfOneChunk(parts, least), [&](int64_t begin, int64_t end) {
        const int64_t first = begin * columns, count = std::min(end * columns, c.n) - first;
        std::fill_n(to + first, count, 0.0f);
        memory.vectors.addRows[c.rhs](at(rhs, first, c.rhs), static_cast<size_t>(c.n),
                                      static_cast<size_t>(c.k), to + first,
                                      static_cast<size_t>(count));
      });
}

void applyBits(const Contraction &c, ContractionMemory &memory, const ReluBits &bits, int64_t first,
               void *values, int64_t rows) {
  const auto keepWhere =
      c.out == MPC_RT_FLOAT32 ? memory.vectors.keepWhere32 : memory.vectors.keepWhere16;
  const auto maskPositive = memory.vectors.maskPositive[c.out];
  const auto count = static_cast<size_t>(c.n);
  const int64_t grain = std::max<int64_t>(conversionGrain / c.n, 1);
  memory.team.forRange(rows, grain, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      auto *own = const_cast<uint8_t *>(at(values, row * c.n, c.out));
      const int64_t byte = (first + row) * c.maskRowBytes();
      if (bits.where)
        keepWhere(bits.where + byte, own, count);
      else
        maskPositive(own, bits.mask + byte, count);
    }
  });
}

uint32_t largestOf(mpc_rt_dtype_t dtype, ContractionMemory &memory, const void *values,
                   int64_t count) {
  std::atomic<uint32_t> most{0}; // a maximum: the same for every order
  memory.team.forRange(count, conversionGrain, [&](int64_t begin, int64_t end) {
    const void *first = at(values, begin, dtype);
    auto length = static_cast<size_t>(end - begin);
    uint32_t own = dtype == MPC_RT_FLOAT32
                       ? memory.vectors.largest32(static_cast<const uint32_t *>(first), length)
                       : memory.vectors.largest16(static_cast<const uint16_t *>(first), length);
    uint32_t before = most.load(std::memory_order_relaxed);
    while (before < own && !most.compare_exchange_weak(before, own, std::memory_order_relaxed)) {
    }
  });
  return most.load(std::memory_order_relaxed);
}

void applyEpilogue(const Contraction &c, ContractionMemory &memory, const float *sums,
                   const float *bias, void *out, int64_t rows) {
  uint32_t flags = (c.hasBias ? epilogueBias : 0u) | (c.relu ? epilogueRelu : 0u) |
                   (c.accumulate ? epilogueAccumulate : 0u);
  if (!c.hasBias)
    bias = nullptr;
  if (sums)
    applyToRows(memory.team, memory.vectors.epilogue[c.out][flags], sums, bias, c.out, out, rows,
                c.n);
  else
    finishBFloat16Rows(memory.team, memory.vectors, flags, bias, out, rows, c.n);
}

} // namespace mpc::rt
