// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The pass: launches between two library calls go before the first one when nothing they touch is
// its, so that a GPU runs more of them as one.
#include "BufferPlace.h"
#include "dialects/mpcrt/IR/Mpcrt.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"
#include "mpc/Codegen/Passes.h"

namespace mpc {
#define GEN_PASS_DEF_GATHERLAUNCHESPASS
#include "mpc/Codegen/Passes.h.inc"
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

static bool gatherOnce(Block &block) {
  SmallVector<Run> runs = runsOf(block);
  for (size_t i = 1; i < runs.size(); ++i) {
    if (!isa<mpcrt::LaunchOp>(runs[i].front()))
      continue;
    // The nearest launches above, past calls that this run has nothing to do with.
    for (size_t j = i; j-- > 0;) {
      if (isa<mpcrt::LaunchOp>(runs[j].front())) {
        if (!moveBehind(runs[j].back(), runs[i]))
          break;
        return true;
      }
      bool isFree = llvm::all_of(
          runs[i], [&](Operation *launch) { return !dependOnEachOther(launch, runs[j].front()); });
      if (!isFree)
        break;
    }
  }
  return false;
}

namespace {
struct GatherLaunches : mpc::impl::GatherLaunchesPassBase<GatherLaunches> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (function->hasAttr(MpcDialect::kEntryAttr))
        function.walk([](Block *block) {
          while (gatherOnce(*block))
            ;
        });
  }
};
} // namespace
