// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Contractions by a micro-kernel, as blocked_product.h has them: packed copies of variables, and
// where results go that nobody reads.
#include "runtime/drivers/cpu/contract/blocked_product.h"
#include "runtime/drivers/cpu/contract/contraction_kernels.h"
#include "runtime/drivers/cpu/contract/contraction_rules.h"
#include "runtime/drivers/cpu/contract/finish_result.h"
#include "runtime/drivers/cpu/onednn/onednn.h"

#include <memory>

namespace mpc::rt {
namespace {

class BlockedKernel final : public ContractionKernel {
public:
  BlockedKernel(ThreadTeam &team, int isa, const MicroKernel &kernel, ContractionKernel *preferred,
                bool onlyStreams)
      : blocked(team, vectorKernels(isa), kernel, packsColumnsOnce(kernel)), preferred(preferred),
        onlyStreams(onlyStreams) {}

  const char *name() const override { return blocked.name(); }
  bool computes(const ContractionCall &call) override {
    return blocked.multiplies(call.shape) && !(preferred && preferred->computes(call)) &&
           (!onlyStreams || (call.isKept && !call.extras.rhsSums &&
                             blocked.streamsWeights(call.shape, /*rhsIsPacked=*/true)));
  }
  Verdict takes(const ContractionCall &call) override;
  void reserve(const ContractionCall &call, ContractionMemory &memory) override;
  void run(const ContractionCall &call, ContractionMemory &memory) override;
  bool isTuned() const override { return true; }
  BlockedProduct *product() override { return &blocked; }
  uint64_t bytes() const override { return blocked.bytes(); }

private:
  static Contraction shapeOf(const ContractionCall &call) {
    Contraction shape = call.shape;
    shape.rhsStays = call.isKept;
    return shape;
  }
  // Says where the result goes, and what else the product makes.
  BlockedProduct::Result resultOf(const ContractionCall &call, ContractionMemory &memory,
                                  uint32_t *largest) const;
  // The packed rhs; null: the product packs it on the way.
  template <typename Pack>
  const void *findPacked(const ContractionCall &call, ContractionMemory &memory,
                         const BlockedProduct::Result &result, const Pack &pack);

  BlockedProduct blocked;
  ContractionKernel *const preferred;
  const bool onlyStreams;
};

Verdict BlockedKernel::takes(const ContractionCall &call) {
  const Contraction &c = call.shape;
  const bool isBFloat16 = c.lhs == MPC_RT_BFLOAT16 && c.rhs == MPC_RT_BFLOAT16;
  if (isBFloat16 && !onednn::multipliesTerms(onednn::Element::bfloat16, c.k))
    return taken("oneDNN's tiles do not multiply so many terms");
  const bool launches = call.extras.kernel;
  const MicroKernel &kernel = blocked.microKernel();
  const Verdict verdict = isWorthwhile(cpuKind(), {kernel, c, call.isKept, launches});
  if (verdict.isTaken || !call.byRows || !blocked.runsByRows(c))
    return verdict;
  const Verdict ofSteps = isWorthwhileByRows(kernel, c);
  return ofSteps.isTaken ? ofSteps : verdict;
}

BlockedProduct::Result BlockedKernel::resultOf(const ContractionCall &call,
                                               ContractionMemory &memory, uint32_t *largest) const {
  const ContractionExtras &extras = call.extras;
  BlockedProduct::Result result{call.out,      extras.largest ? largest : nullptr,
                                extras.kernel, call.isConsumed(),
                                extras.bits,   static_cast<float *>(extras.rhsSums)};
  if (!blocked.storesNothing(call.shape, result))
    result.out = memory.resultMemory(call.shape, call.out);
  return result;
}

template <typename Pack>
const void *BlockedKernel::findPacked(const ContractionCall &call, ContractionMemory &memory,
                                      const BlockedProduct::Result &result, const Pack &pack) {
  const Contraction c = shapeOf(call);
  const int32_t variable = call.descriptor.rhs_variable;
  // A packed copy that is kept is not packed again, and sums of rhs are made while it is packed.
  if (variable < 0 || c.batch != 1 || call.extras.rhsSums)
    return nullptr;
  const void *layout = blocked.layoutOf(c);
  if (memory.shared)
    return memory.shared->find(variable, c, layout, call.rhs, blocked.packedBytes(c), pack);
  PackedWeights &entry = memory.entryOf(variable, c, layout);
  bool keep = false;
  if (const void *packed = memory.findPacked(entry, keep))
    return packed;
  if (!keep && !blocked.packsRhsFirst(c, result))
    return nullptr;
  return memory.packInto(&entry, keep, blocked.packedBytes(c), pack);
}

void BlockedKernel::reserve(const ContractionCall &call, ContractionMemory &memory) {
  memory.reserveBias(call.shape);
  uint32_t largest = 0;
  const BlockedProduct::Result result = resultOf(call, memory, &largest);
  const bool isPacked = findPacked(call, memory, result, [](uint8_t *) {}) != nullptr;
  blocked.reserveFor(shapeOf(call), isPacked, result);
}

void BlockedKernel::run(const ContractionCall &call, ContractionMemory &memory) {
  const Contraction c = shapeOf(call);
  uint32_t most = 0;
  const BlockedProduct::Result result = resultOf(call, memory, &most);
  const void *packed =
      findPacked(call, memory, result, [&](uint8_t *to) { blocked.packRhs(c, call.rhs, to); });
  blocked.run(c, call.lhs, call.rhs, packed, memory.prepareBias(c, call.bias), result);
  if (call.extras.largest)
    storeLargest(c.out, most, call.extras.largest);
}

} // namespace

std::unique_ptr<ContractionKernel> makeBlockedKernel(ThreadTeam &team, int isa,
                                                     const MicroKernel &kernel,
                                                     ContractionKernel *preferred,
                                                     bool onlyStreams) {
  return std::make_unique<BlockedKernel>(team, isa, kernel, preferred, onlyStreams);
}

} // namespace mpc::rt
