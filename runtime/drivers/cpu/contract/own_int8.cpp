// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of int8 into int32 by the kernels of int8_kernel.h, on weights that are kept as these
// read them, or on small matrices, which a thread packs before it multiplies them.
#include "runtime/drivers/cpu/contract/contraction_kernels.h"
#include "runtime/drivers/cpu/contract/finish_result.h"
#include "runtime/drivers/cpu/onednn/onednn.h"
#include "runtime/drivers/result_kernel.h"
#include "runtime/rules/integer_blocks.h"

#include <algorithm>

namespace mpc::rt {
namespace {

class OwnInt8 final : public ContractionKernel {
public:
  explicit OwnInt8(const Int8Kernel &kernel) : kernel(kernel) {}

  const char *name() const override { return kernel.name; }
  bool computes(const ContractionCall &call) override {
    const Contraction &c = call.shape;
    return c.lhs == MPC_RT_INT8 && c.k > 0 && !c.transposeLhs && !c.accumulate &&
           (isOfKept(call) || packsMatrices(c));
  }
  Verdict takes(const ContractionCall &call) override {
    constexpr int64_t manyRows = 1024;
    const Contraction &c = call.shape;
    if (!isOfKept(call))
      return taken("small matrices of int8, packed by one team of threads", "Zen 5");
    if (c.m < manyRows)
      return taken("less than 1024 rows of kept int8", "Zen 3, Zen 4 and Emerald Rapids");
    if (c.n >= kernel.fewestColumns)
      return taken("many rows and columns of kept int8", "Zen 3, Zen 4 and Emerald Rapids");
    return onednn::multipliesTerms(onednn::Element::int8, c.k)
               ? refused("many rows of few columns", "Emerald Rapids")
               : taken("oneDNN's tiles do not multiply so many terms");
  }
  void reserve(const ContractionCall &call, ContractionMemory &memory) override {
    if (!runsByBlocks(call) && !requantizes(call))
      memory.resultMemory(call.shape, call.out);
    if (isOfKept(call))
      memory.integers.findTiles(kernel, call.descriptor, call.shape, /*rhs=*/nullptr);
    rt::reserve(memory.sumBlock, scratchBytes(call, memory));
  }
  void run(const ContractionCall &call, ContractionMemory &memory) override {
    const Contraction &c = call.shape;
    const bool inBlocks = runsByBlocks(call);
    const auto *lhs = static_cast<const int8_t *>(call.lhs),
               *rhs = static_cast<const int8_t *>(call.rhs);
    const int8_t *packed =
        isOfKept(call) ? memory.integers.findTiles(kernel, call.descriptor, c, rhs) : nullptr;
    rt::reserve(memory.sumBlock, scratchBytes(call, memory));
    if (inBlocks) {
      multiplyBlocks(call, packed, memory);
      return;
    }
    if (requantizes(call)) {
      kernel.multiplyAndRequantize(memory.team, c, lhs, packed, memory.sumBlock.data(),
                                   call.extras.kernel->requantized(c.n));
      return;
    }
    void *out = memory.resultMemory(c, call.out);
    if (packed)
      kernel.multiply(memory.team, c, lhs, packed, memory.sumBlock.data(),
                      static_cast<int32_t *>(out));
    else
      multiplyMatrices(c, lhs, rhs, memory, static_cast<int32_t *>(out));
    finishResult(call, memory, out);
  }
  bool isTuned() const override { return true; }

private:
  static bool isOfKept(const ContractionCall &call) { return call.isKept && call.shape.batch == 1; }
  // Enough rows meet what is packed, which stays in the caches of the thread.
  bool packsMatrices(const Contraction &c) const {
    constexpr int64_t fewestRows = 16, mostNumbers = 1 << 18;
    return kernel.packsQuickly && c.rhs == MPC_RT_INT8 && !c.packedRhs && !c.unsignedRhs &&
           c.m >= fewestRows && c.k <= mostNumbers && c.n <= mostNumbers / c.k;
  }
  bool runsByBlocks(const ContractionCall &call) const {
    const Contraction &c = call.shape;
    return call.extras.kernel && isOfKept(call) && kernel.packsQuickly &&
           rules::multipliesByBlocks(c.k, c.n);
  }
  // Whether sums become numbers of 8 bits in registers, and nobody reads them.
  bool requantizes(const ContractionCall &call) const {
    return isOfKept(call) && call.isConsumed() && kernel.multiplyAndRequantize &&
           call.extras.kernel && call.extras.kernel->requantization;
  }
  static Contraction blockOf(const Contraction &c) {
    constexpr int64_t unit = rules::fewestBlockRows, most = 96;
    Contraction block = c;
    block.m = std::min({rules::mostBlockSums / c.n / unit * unit, most, c.m});
    return block;
  }
  uint64_t blockBytes(const Contraction &block) const {
    return alignUp(block.outElements() * sizeof(int32_t)) +
           alignUp(kernel.scratchBytes(block, alone.threads()));
  }
  uint64_t packedBytes(const Contraction &c) const { return alignUp(kernel.weightBytes(c)); }
  uint64_t scratchBytes(const ContractionCall &call, ContractionMemory &memory) {
    if (runsByBlocks(call))
      return blockBytes(blockOf(call.shape)) * memory.team.threads();
    return isOfKept(call) ? kernel.scratchBytes(call.shape, memory.team.threads())
                          : matrixBytes(call.shape, teamOf(call.shape, memory)) *
                                static_cast<uint64_t>(slotsOf(call.shape, memory));
  }
  // Rows of a result that has no memory are the thread's own.
  void multiplyBlocks(const ContractionCall &call, const int8_t *packed,
                      ContractionMemory &memory) {
    constexpr int64_t productsOfThread = 1 << 18;
    const Contraction &c = call.shape, whole = blockOf(c);
    const int64_t blocks = (c.m + whole.m - 1) / whole.m;
    const int64_t slots = c.m * c.n * c.k < productsOfThread ? 1 : memory.team.threads();
    const ResultKernel &onResult = *call.extras.kernel;
    const bool inRegisters = requantizes(call);
    const RequantizedSums to = inRegisters ? onResult.requantized(c.n) : RequantizedSums{};
    memory.team.shareOut(blocks, slots, [&](Turns &turns) {
      uint8_t *own = memory.sumBlock.data() + turns.slot() * blockBytes(whole);
      uint8_t *scratch = own + alignUp(whole.outElements() * sizeof(int32_t));
      Contraction block = whole;
      for (int64_t i; turns.take(i);) {
        const int64_t first = i * whole.m;
        block.m = std::min(whole.m, c.m - first);
        if (inRegisters) {
          kernel.multiplyAndRequantize(alone, block,
                                       static_cast<const int8_t *>(call.lhs) + first * c.k, packed,
                                       scratch, to.from(first, 0));
          continue;
        }
        auto *sums = call.out ? static_cast<int32_t *>(call.out) + first * c.n
                              : reinterpret_cast<int32_t *>(own);
        kernel.multiply(alone, block, static_cast<const int8_t *>(call.lhs) + first * c.k, packed,
                        scratch, sums);
        onResult.run(sums, c.out, first * c.n, (first + block.m) * c.n);
      }
    });
  }
  // Threads share the matrices; a single one they multiply together.
  static int64_t slotsOf(const Contraction &c, const ContractionMemory &memory) {
    return std::min<int64_t>(memory.team.threads(), c.batch);
  }
  ThreadTeam &teamOf(const Contraction &c, ContractionMemory &memory) {
    return slotsOf(c, memory) == 1 ? memory.team : alone;
  }
  uint64_t matrixBytes(const Contraction &c, const ThreadTeam &team) const {
    return packedBytes(c) + alignUp(kernel.scratchBytes(c, team.threads()));
  }
  void multiplyMatrices(const Contraction &c, const int8_t *lhs, const int8_t *rhs,
                        ContractionMemory &memory, int32_t *out) {
    const int64_t slots = slotsOf(c, memory);
    ThreadTeam &team = teamOf(c, memory);
    const uint64_t ownBytes = matrixBytes(c, team);
    Contraction matrix = c;
    matrix.batch = 1;
    memory.team.shareOut(c.batch, slots, [&](Turns &turns) {
      auto *packed = reinterpret_cast<int8_t *>(memory.sumBlock.data()) + turns.slot() * ownBytes;
      for (int64_t i; turns.take(i);) {
        kernel.packWeights(team, matrix, rhs + i * c.k * c.n, packed);
        kernel.multiply(team, matrix, lhs + i * c.m * c.k, packed, packed + packedBytes(c),
                        out + i * c.m * c.n);
      }
    });
  }

  ThreadTeam alone{1}; // a thread that multiplies a part by itself
  const Int8Kernel &kernel;
};

} // namespace

std::unique_ptr<ContractionKernel> makeOwnInt8(const Int8Kernel &kernel) {
  return std::make_unique<OwnInt8>(kernel);
}

} // namespace mpc::rt
