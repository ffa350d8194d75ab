// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Contractions by oneDNN. What the contract of mpc_rt_contract_t asks beyond it (rounding to the
// out dtype before and after the bias, a relu that keeps NaN, which oneDNN's does not) is one
// vectorised pass per block of rows, while the block is still in cache.
#include "runtime/drivers/cpu/contract/contraction_kernels.h"
#include "runtime/drivers/cpu/contract/finish_result.h"
#include "runtime/drivers/cpu/contract/library_plan.h"
#include "runtime/drivers/cpu/kernels/work_blocks.h"
#include "runtime/drivers/result_kernel.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>

namespace mpc::rt {
namespace {

using onednn::Element;

mpc_rt_dtype_t dtypeOf(Element element) {
  return element == Element::int8       ? MPC_RT_INT8
         : element == Element::bfloat16 ? MPC_RT_BFLOAT16
                                        : MPC_RT_FLOAT32;
}

class LibraryKernel final : public ContractionKernel {
public:
  LibraryKernel(ThreadTeam &team, const ContractionAbilities &abilities)
      : team(team), exactInt8(abilities.exactInt8),
        planner(team.threads(), abilities.nativeBFloat16) {}

  const char *name() const override { return libraryKernel; }
  // oneDNN's name of its kernel.
  const char *nameOf(const ContractionCall &call) override {
    const LibraryPlan &plan = findPlan(call);
    return plan.body && *plan.body->kernel() ? plan.body->kernel() : "loop";
  }
  bool computes(const ContractionCall &call) override;
  // The reason is that of the kernels before it, which refused.
  Verdict takes(const ContractionCall & /*call*/) override { return {true}; }
  void reserve(const ContractionCall &call, ContractionMemory &memory) override;
  void run(const ContractionCall &call, ContractionMemory &memory) override;
  bool isTuned() const override { return true; }
  void forgetPlans() noexcept override { plans.clear(); }

private:
  struct PlanKey {
    uint32_t id;
    bool kept, largest, launches;
    int64_t batch;
    bool operator==(const PlanKey &other) const {
      return id == other.id && kept == other.kept && largest == other.largest &&
             launches == other.launches && batch == other.batch;
    }
  };
  struct PlanKeyHash {
    size_t operator()(const PlanKey &key) const {
      return ((static_cast<size_t>(key.batch) * 2 + key.kept) * 2 + key.largest) *
                 0x9E3779B97F4A7C15u +
             key.id;
    }
  };

  LibraryPlan &findPlan(const ContractionCall &call);
  // `entry` of a variable that a plan packs, or null.
  static PackedWeights *findEntry(const LibraryPlan &plan, const ContractionCall &call,
                                  ContractionMemory &memory);
  const void *prepareRhs(const LibraryPlan &plan, const ContractionCall &call,
                         ContractionMemory &memory);
  const void *prepareLhs(const LibraryPlan &plan, ContractionMemory &memory, const void *lhs,
                         int64_t first, int64_t units);
  void execute(LibraryPlan &plan, const ContractionCall &call, const ContractionExtras &extras,
               ContractionMemory &memory, void *out);

  ThreadTeam &team;
  const bool exactInt8;
  LibraryPlanner planner;
  std::unordered_map<PlanKey, std::unique_ptr<LibraryPlan>, PlanKeyHash> plans;
};

LibraryPlan &LibraryKernel::findPlan(const ContractionCall &call) {
  // Products of integers do not compute the largest magnitude, and a kernel on their result runs
  // after all of it.
  const bool isInteger = call.shape.lhs == MPC_RT_INT8;
  const LibraryPlanUse use{call.isKept, call.extras.largest && !isInteger,
                           call.extras.kernel && !isInteger};
  const PlanKey key{call.descriptor.id, use.keepsWeights, use.findsLargest, use.launches,
                    call.batch};
  auto found = plans.find(key);
  // The comparison guards against two descriptors with one id: a wrong plan would write out of
  // bounds.
  if (found != plans.end() && found->second->shape == call.shape)
    return *found->second;
  auto plan = planner.make(call.shape, use);
  if (plans.size() >= mostPlans)
    plans.clear();
  return *(plans[key] = std::move(plan));
}

// oneDNN takes integers only where its kernels are exact and fast.
bool LibraryKernel::computes(const ContractionCall &call) {
  const Contraction &c = call.shape;
  if (c.lhs != MPC_RT_INT8)
    return !isFloat8(c.lhs) && !call.hasFloat64() && !call.blocks;
  if (c.k == 0 || !exactInt8 || !onednn::multipliesTerms(Element::int8, c.k))
    return false;
  team.prepareWorkers();
  return findPlan(call).body->isFast();
}

PackedWeights *LibraryKernel::findEntry(const LibraryPlan &plan, const ContractionCall &call,
                                        ContractionMemory &memory) {
  const int32_t variable = call.descriptor.rhs_variable;
  return variable >= 0 && plan.packed ? &memory.entryOf(variable, plan.shape, plan.packed.get())
                                      : nullptr;
}

void LibraryKernel::reserve(const ContractionCall &call, ContractionMemory &memory) {
  const LibraryPlan &plan = findPlan(call);
  const Contraction &c = plan.shape;
  memory.resultMemory(c, call.out);
  memory.reserveRounded(c);
  memory.reserveBias(c);
  if (c.k > 0) {
    PackedWeights *entry = findEntry(plan, call, memory);
    bool keep = false;
    const bool isPacked = entry && memory.findPacked(*entry, keep);
    if (!isPacked && plan.widenRhs)
      rt::reserve(memory.rhsWhole, c.rhsElements() * sizeof(float));
    if (!isPacked && plan.packed)
      memory.packInto(entry, keep, plan.packed->bytes(), [](uint8_t *) {});
    if (plan.widenLhs)
      rt::reserve(memory.lhsBlock,
                  static_cast<uint64_t>(plan.block * plan.unitRows() * c.k) * sizeof(float));
  }
  if (plan.buffersSums())
    rt::reserve(memory.sumBlock,
                static_cast<uint64_t>(plan.block * plan.unitRows() * c.n) * sizeof(float));
  for (const auto *part : {plan.body.get(), plan.tail.get()})
    if (part)
      rt::reserve(memory.libraryScratch, part->scratchBytes());
}

void LibraryKernel::run(const ContractionCall &call, ContractionMemory &memory) {
  LibraryPlan &plan = findPlan(call);
  if (call.shape.lhs != MPC_RT_INT8) {
    execute(plan, call, call.extras, memory, call.out);
    return;
  }
  void *out = memory.resultMemory(call.shape, call.out);
  execute(plan, call, /*extras=*/{}, memory, out);
  finishResult(call, memory, out);
}

void LibraryKernel::execute(LibraryPlan &plan, const ContractionCall &call,
                            const ContractionExtras &extras, ContractionMemory &memory, void *out) {
  const Contraction &c = plan.shape;
  const void *lhs = memory.roundLhs(c, call.lhs);
  if (extras.rhsSums)
    sumColumns(c, memory, call.rhs, extras.rhsSums);
  team.prepareWorkers();
  out = memory.resultMemory(c, out);
  uint32_t most = 0;
  const bool zero = c.k == 0; // an empty sum: no product, zeros into the epilogue
  const void *ready = zero ? nullptr : prepareRhs(plan, call, memory);
  const float *wideBias = memory.prepareBias(c, call.bias);
  const int64_t unitRows = plan.unitRows(), rhsElements = plan.batched ? c.k * c.n : 0;
  const bool scratch = plan.buffersSums();
  if (scratch)
    rt::reserve(memory.sumBlock,
                static_cast<uint64_t>(plan.block * unitRows * c.n) * sizeof(float));

  for (int64_t first = 0; first < plan.units; first += plan.block) {
    int64_t units = std::min(plan.block, plan.units - first);
    int64_t rows = units * unitRows;
    auto *target = const_cast<uint8_t *>(at(out, first * unitRows * c.n, c.out));
    auto *sums = reinterpret_cast<float *>(scratch ? memory.sumBlock.data() : target);
    if (zero)
      std::memset(sums, 0,
                  static_cast<size_t>(rows * c.n) *
                      dtypeSize(plan.roundsSums ? c.out : mpc_rt_dtype_t{MPC_RT_FLOAT32}));
    else {
      auto &product = units == plan.block ? *plan.body : *plan.tail;
      product.run(prepareLhs(plan, memory, lhs, first, units),
                  at(ready, first * rhsElements, dtypeOf(plan.element)), wideBias, sums,
                  memory.libraryScratch);
    }
    if (plan.epilogue || zero)
      applyEpilogue(c, memory, plan.roundsSums ? nullptr : sums, wideBias, target, rows);
    if (c.makesMask || c.readsMask)
      applyBits(c, memory, extras.bits, first, target, rows);
    if (plan.findLargest)
      most = std::max(most, largestOf(c.out, memory, target, rows * c.n));
    if (extras.kernel)
      extras.kernel->run(team, target, c.out, first * unitRows * c.n, rows * c.n);
  }
  if (extras.largest)
    storeLargest(c.out, most, extras.largest);
}

const void *LibraryKernel::prepareRhs(const LibraryPlan &plan, const ContractionCall &call,
                                      ContractionMemory &memory) {
  const Contraction &c = plan.shape;
  const void *rhs = call.rhs;
  PackedWeights *entry = findEntry(plan, call, memory);
  bool keep = false;
  if (entry)
    if (const void *ready = memory.findPacked(*entry, keep))
      return ready;
  if (plan.widenRhs) {
    rt::reserve(memory.rhsWhole, c.rhsElements() * sizeof(float));
    float *wide = memory.rhsWhole.floats();
    if (c.rhs == MPC_RT_INT8)
      widenIntegers(team, c, static_cast<const int8_t *>(rhs), wide);
    else
      memory.widen(c.rhs, rhs, wide, c.rhsElements());
    rhs = wide;
  }
  if (!plan.packed)
    return rhs;
  auto from = plan.element == Element::int8                ? Element::int8
              : c.rhs == MPC_RT_BFLOAT16 && !plan.widenRhs ? Element::bfloat16
                                                           : Element::float32;
  return memory.packInto(entry, keep, plan.packed->bytes(), [&](uint8_t *to) {
    plan.packed->pack(rhs, from, c.transposeRhs, to, memory.libraryScratch);
  });
}

const void *LibraryKernel::prepareLhs(const LibraryPlan &plan, ContractionMemory &memory,
                                      const void *lhs, int64_t first, int64_t units) {
  const Contraction &c = plan.shape;
  bool columns = c.transposeLhs && !plan.batched; // rows of the block are columns in memory
  int64_t offset = plan.batched ? first * c.m * c.k : columns ? first : first * c.k;
  const void *block = at(lhs, offset, c.lhs);
  if (!plan.widenLhs)
    return block;
  int64_t elements = units * (plan.batched ? c.m * c.k : c.k);
  rt::reserve(memory.lhsBlock, static_cast<uint64_t>(elements) * sizeof(float));
  float *wide = memory.lhsBlock.floats();
  if (!columns) {
    memory.widen(c.lhs, block, wide, static_cast<uint64_t>(elements));
    return wide;
  }
  auto convert =
      c.lhs == MPC_RT_BFLOAT16 ? memory.vectors.widenBFloat16 : memory.vectors.widenFloat16;
  int64_t grain = std::max<int64_t>(conversionGrain / units, 1);
  team.forRange(c.k, grain, [&](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; ++k)
      convert(static_cast<const uint16_t *>(block) + k * c.m, wide + k * units,
              static_cast<size_t>(units));
  });
  return wide;
}

} // namespace

std::unique_ptr<ContractionKernel> makeLibraryKernel(ThreadTeam &team,
                                                     const ContractionAbilities &abilities) {
  return std::make_unique<LibraryKernel>(team, abilities);
}

} // namespace mpc::rt
