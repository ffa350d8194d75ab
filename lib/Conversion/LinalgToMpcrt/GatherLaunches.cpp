// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The pass: launches between two library calls go before the first one or behind the second one
// when nothing they touch is its, so that a GPU runs more of them as one.
#include "dialects/mpcrt/IR/Mpcrt.h"
#include "lib/Conversion/LinalgToMpcrt/BufferUses.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"
#include "mpc/Analysis/EntryRole.h"
#include "mpc/Conversion/Passes.h"

namespace mpc {
#define GEN_PASS_DEF_GATHERLAUNCHES
#include "mpc/Conversion/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;

/// Launches that follow each other, or one other op of the device.
using Run = SmallVector<Operation *>;

static SmallVector<Run> runsOf(Block &block) {
  SmallVector<Run> runs;
  for (Operation &op : block) {
    if (op.hasTrait<OpTrait::IsTerminator>() || isMemoryEffectFree(&op))
      continue;
    bool joins =
        isa<mpcrt::LaunchOp>(op) && !runs.empty() && isa<mpcrt::LaunchOp>(runs.back().back());
    if (joins)
      runs.back().push_back(&op);
    else
      runs.push_back({&op});
  }
  return runs;
}

/// Moves the launches behind `last`, and what computes their operands before it; false when that
/// has effects of its own, such as a wait for the device.
static bool moveBehind(Operation *last, const Run &launches) {
  IRRewriter rewriter(last->getContext());
  for (Operation *launch : launches)
    if (failed(moveValueDefinitions(rewriter, launch->getOperands(), last)))
      return false;
  for (Operation *launch : llvm::reverse(launches))
    launch->moveAfter(last);
  return true;
}

static bool areLaunches(const Run &run) { return isa<mpcrt::LaunchOp>(run.front()); }

/// Whether the order of the launch and the calls between two runs does not matter.
static bool isFreeOf(Operation *launch, ArrayRef<Run> calls, BufferUses &uses) {
  return llvm::none_of(
      calls, [&](const Run &call) { return uses.dependOnEachOther(launch, call.front()); });
}

/// Moves every launch of run `i` up to the launches before it or down to those behind it, if each
/// may go one of the two ways.
static bool dissolve(ArrayRef<Run> runs, size_t i, BufferUses &uses) {
  size_t above = i, below = i + 1;
  while (above > 0 && !areLaunches(runs[above - 1]))
    --above;
  while (below < runs.size() && !areLaunches(runs[below]))
    ++below;
  Run rising, sinking;
  for (Operation *launch : runs[i]) {
    bool rises = above > 0 && isFreeOf(launch, runs.slice(above, i - above), uses) &&
                 llvm::none_of(sinking, [&](Operation *earlier) {
                   return uses.dependOnEachOther(launch, earlier);
                 });
    if (!rises &&
        (below == runs.size() || !isFreeOf(launch, runs.slice(i + 1, below - i - 1), uses)))
      return false;
    (rises ? rising : sinking).push_back(launch);
  }
  if (!rising.empty() && !moveBehind(runs[above - 1].back(), rising))
    return false;
  for (Operation *launch : sinking)
    launch->moveBefore(runs[below].front());
  return true;
}

static bool gatherOnce(Block &block, BufferUses &uses) {
  SmallVector<Run> runs = runsOf(block);
  for (size_t i = 0; i < runs.size(); ++i)
    if (areLaunches(runs[i]) && dissolve(runs, i, uses))
      return true;
  return false;
}

namespace {
struct GatherLaunchesPass : mpc::impl::GatherLaunchesBase<GatherLaunchesPass> {
  void runOnModule() override {
    BufferUses uses(getOperation());
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (isEntry(function))
        function.walk([&](Block *block) {
          while (gatherOnce(*block, uses))
            ;
        });
  }
};
} // namespace
