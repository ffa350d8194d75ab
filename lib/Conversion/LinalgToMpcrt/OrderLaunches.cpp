// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The pass: launches between two library calls stand in the order in which a GPU waits least, and
// those that are independent of each other stand in one fork.
#include "dialects/mpcrt/IR/Mpcrt.h"
#include "lib/Conversion/LinalgToMpcrt/BufferUses.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mpc/Analysis/EntryRole.h"
#include "mpc/Analysis/LaunchWidth.h"
#include "mpc/Conversion/Passes.h"

namespace mpc {
#define GEN_PASS_DEF_ORDERLAUNCHES
#include "mpc/Conversion/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;

/// Each launch is compared with each other one of its run: longer runs are ordered in pieces.
static constexpr size_t kMostLaunches = 512;

using Launches = SmallVector<mpcrt::LaunchOp, 0>;

namespace {
/// Launches that follow each other, and which of them wait for which.
class LaunchOrder {
public:
  LaunchOrder(ArrayRef<mpcrt::LaunchOp> run, BufferUses &uses);

  /// The launches in forks: what a fork needs is in those before it.
  std::vector<Launches> best() const;

private:
  struct Order {
    std::vector<SmallVector<unsigned, 0>> forks;
    unsigned turns = 0; ///< from narrow launches to wide ones, and back
  };
  Order order(bool startsWide) const;

  ArrayRef<mpcrt::LaunchOp> run;
  std::vector<SmallVector<unsigned>> later; ///< launches that need this one
  SmallVector<unsigned> earlier;            ///< how many it needs
  SmallVector<bool> isWide;
};
} // namespace

LaunchOrder::LaunchOrder(ArrayRef<mpcrt::LaunchOp> run, BufferUses &uses)
    : run(run), later(run.size()), earlier(run.size(), 0) {
  for (auto [i, launch] : llvm::enumerate(run)) {
    isWide.push_back(launchWidthOf(launch) != LaunchWidth::narrow);
    for (size_t before = 0; before < i; ++before)
      if (uses.dependOnEachOther(run[before], launch)) {
        later[before].push_back(i);
        ++earlier[i];
      }
  }
}

/// All narrow launches that can run come before the next wide one, and the other way round: a wide
/// one is a kernel of its own, which cuts those before and behind it apart.
LaunchOrder::Order LaunchOrder::order(bool startsWide) const {
  Order made;
  SmallVector<unsigned> missing(earlier);
  SmallVector<unsigned, 0> ready;
  for (unsigned i = 0; i < run.size(); ++i)
    if (missing[i] == 0)
      ready.push_back(i);
  for (bool takesWide = startsWide; !ready.empty();) {
    SmallVector<unsigned, 0> fork, rest;
    for (unsigned i : ready)
      (isWide[i] == takesWide ? fork : rest).push_back(i);
    if (fork.empty()) {
      takesWide = !takesWide;
      ++made.turns;
      continue;
    }
    for (unsigned i : fork)
      for (unsigned next : later[i])
        if (--missing[next] == 0)
          rest.push_back(next);
    llvm::sort(rest);
    ready = rest;
    made.forks.push_back(std::move(fork));
  }
  return made;
}

std::vector<Launches> LaunchOrder::best() const {
  Order narrowFirst = order(false), wideFirst = order(true);
  const bool takesWide = wideFirst.turns < narrowFirst.turns;
  std::vector<Launches> forks;
  for (ArrayRef<unsigned> fork : takesWide ? wideFirst.forks : narrowFirst.forks) {
    forks.emplace_back();
    for (unsigned i : fork)
      forks.back().push_back(run[i]);
  }
  return forks;
}

/// Moves the launches to `end`, which stands behind all of them, fork by fork.
static void arrange(IRRewriter &rewriter, const std::vector<Launches> &forks, Block *block,
                    Block::iterator end) {
  for (const Launches &fork : forks) {
    if (fork.size() == 1) {
      rewriter.moveOpBefore(fork.front(), block, end);
      continue;
    }
    mpcrt::LaunchOp first = fork.front();
    rewriter.setInsertionPoint(block, end);
    auto all = mpcrt::LaunchAllOp::create(rewriter, first.getLoc());
    Block &body = all.getBody().emplaceBlock();
    for (mpcrt::LaunchOp launch : fork)
      launch->moveBefore(&body, body.end());
    remark::passed(all.getLoc(), remark::RemarkOpts::name("order-launches").category("mpc-kernels"))
        << ("no wait between " + Twine(fork.size()) + " launches, from " + first.getKernel() +
            " on")
               .str();
  }
}

static void orderRun(ArrayRef<mpcrt::LaunchOp> run, BufferUses &uses) {
  if (run.size() < 2)
    return;
  mpcrt::LaunchOp first = run.front(), last = run.back();
  IRRewriter rewriter(first->getContext());
  // Code that computes operands goes up: launches have no results, so it needs none of them.
  const Block::iterator end = std::next(last->getIterator());
  SmallVector<Operation *> between;
  for (Operation &op : llvm::make_range(first->getIterator(), end))
    if (!isa<mpcrt::LaunchOp>(op))
      between.push_back(&op);
  for (Operation *op : between)
    rewriter.moveOpBefore(op, first);
  arrange(rewriter, LaunchOrder(run, uses).best(), first->getBlock(), end);
}

/// Forks that are there already are made anew.
static void dissolveForks(Block &block) {
  for (auto all : llvm::make_early_inc_range(block.getOps<mpcrt::LaunchAllOp>())) {
    Block &body = all.getBody().front();
    block.getOperations().splice(all->getIterator(), body.getOperations());
    all.erase();
  }
}

static void orderLaunches(Block &block, BufferUses &uses) {
  dissolveForks(block);
  std::vector<Launches> runs(1);
  for (Operation &op : block) {
    auto launch = dyn_cast<mpcrt::LaunchOp>(op);
    if (launch && runs.back().size() < kMostLaunches)
      runs.back().push_back(launch);
    else if (launch)
      runs.push_back({launch});
    else if (!isMemoryEffectFree(&op))
      runs.emplace_back();
  }
  for (const Launches &run : runs)
    orderRun(run, uses);
}

namespace {
struct OrderLaunchesPass : mpc::impl::OrderLaunchesBase<OrderLaunchesPass> {
  void runOnModule() override {
    BufferUses uses(getOperation());
    SmallVector<Block *> blocks;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (isEntry(function))
        function.walk([&](Block *block) {
          if (!isa<mpcrt::LaunchAllOp>(block->getParentOp()))
            blocks.push_back(block);
        });
    for (Block *block : blocks)
      orderLaunches(*block, uses);
  }
};
} // namespace
