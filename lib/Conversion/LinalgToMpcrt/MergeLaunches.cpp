// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The pass: launches in a loop of the host that go through the same elements become one, and
// anywhere what finds extremes of, or turns, the numbers of another launch.
#include "dialects/mpcrt/IR/Turn.h"
#include "lib/Conversion/LinalgToMpcrt/KernelOutliner.h"
#include "lib/Conversion/LinalgToMpcrt/LaunchMerger.h"
#include "lib/Conversion/LinalgToMpcrt/ReductionMerger.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mpc/Analysis/EntryRole.h"
#include "mpc/Analysis/ReshapedBuffer.h"
#include "mpc/Conversion/Passes.h"

namespace mpc {
#define GEN_PASS_DEF_MERGELAUNCHES
#include "mpc/Conversion/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;

using Launches = SmallVector<mpcrt::LaunchOp>;

/// Whether the launch at `from` may run at `to` instead.
static bool mayMove(ArrayRef<mpcrt::LaunchOp> run, size_t from, size_t to, BufferUses &uses) {
  const size_t first = std::min(from, to), last = std::max(from, to);
  for (size_t i = first + 1; i < last; ++i)
    if (uses.dependOnEachOther(run[from], run[i]))
      return false;
  return true;
}

/// Whether the second launch turns numbers that the first one writes.
static bool turnsNumbersOf(mpcrt::LaunchOp second, mpcrt::LaunchOp first, BufferUses &uses) {
  Value numbers = skipBufferReshapes(second.getArguments()[0]);
  const auto &touched = uses.of(first);
  return touched && llvm::any_of(*touched, [&](const BufferUse &use) {
           return use.isWritten && skipBufferReshapes(use.buffer) == numbers;
         });
}

static bool turns(mpcrt::LaunchOp launch, BufferUses &uses) {
  func::FuncOp kernel = uses.kernelOf(launch);
  return kernel && kernel->hasAttr(mpcrt::kTurnsAttr);
}

/// Merges two launches of those that follow each other, or one that turns numbers with the one that
/// writes them; false when none can be.
static bool mergeTwo(Launches &run, LaunchMerger &merger, BufferUses &uses, bool turnsAlone) {
  for (size_t later = 1; later < run.size(); ++later)
    for (size_t earlier = later; earlier-- > 0;) {
      if (turnsAlone &&
          (!turns(run[later], uses) || !turnsNumbersOf(run[later], run[earlier], uses)))
        continue;
      // The one that goes to the other one's place.
      const bool sinks = mayMove(run, earlier, later, uses);
      if (!sinks && !mayMove(run, later, earlier, uses))
        continue;
      mpcrt::LaunchOp merged = merger.merge(run[earlier], run[later], sinks);
      if (!merged)
        continue;
      run[sinks ? later : earlier] = merged;
      run.erase(run.begin() + (sinks ? earlier : later));
      return true;
    }
  return false;
}

/// Merges a reduction with what goes through the same elements; false when none can be.
static bool mergeReduction(Launches &run, ReductionMerger &merger, BufferUses &uses) {
  for (size_t reduction = 0; reduction < run.size(); ++reduction) {
    if (!merger.isReduction(run[reduction]))
      continue;
    for (size_t other = 0; other < run.size(); ++other) {
      if (other == reduction)
        continue;
      // The one that goes to the other one's place.
      const bool goesUp = mayMove(run, reduction, other, uses);
      if (!goesUp && !mayMove(run, other, reduction, uses))
        continue;
      const size_t at = goesUp ? other : reduction, gone = goesUp ? reduction : other;
      mpcrt::LaunchOp merged = merger.merge(run[other], run[reduction], run[at]);
      if (!merged)
        continue;
      run[at] = merged;
      run.erase(run.begin() + gone);
      return true;
    }
  }
  return false;
}

static SmallVector<Launches> runsOf(Block &block) {
  SmallVector<Launches> runs(1);
  for (Operation &op : block) {
    if (auto launch = dyn_cast<mpcrt::LaunchOp>(op))
      runs.back().push_back(launch);
    else if (!isMemoryEffectFree(&op))
      runs.emplace_back();
  }
  return runs;
}

namespace {
struct MergeLaunchesPass : mpc::impl::MergeLaunchesBase<MergeLaunchesPass> {
  void runOnModule() override {
    BufferUses uses(getOperation());
    LaunchMerger merger(uses);
    ReductionMerger reductions(uses);
    SmallVector<Block *> blocks;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (isEntry(function))
        function.walk([&](Block *block) { blocks.push_back(block); });
    for (Block *block : blocks)
      for (Launches &run : runsOf(*block)) {
        // Outside of loops packs and wide launches gain nothing else.
        const bool turnsAlone = !isa<scf::ForOp>(block->getParentOp());
        while (mergeTwo(run, merger, uses, turnsAlone))
          ;
        while (mergeReduction(run, reductions, uses))
          ;
      }
    uses.eraseReplaced();
    mergeEqualKernels(getOperation());
  }
};
} // namespace
