// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The pass: launches between two library calls that are independent of each other become one fork.
#include "dialects/mpcrt/IR/Mpcrt.h"
#include "lib/Conversion/LinalgToMpcrt/MemoryOrder.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mpc/Analysis/EntryRole.h"
#include "mpc/Conversion/Passes.h"

namespace mpc {
#define GEN_PASS_DEF_JOINLAUNCHES
#include "mpc/Conversion/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;

namespace {
/// Launches that may run at once, and what the host does behind the first one of them.
struct Group {
  SmallVector<mpcrt::LaunchOp> launches;
  llvm::SmallPtrSet<Operation *, 8> members; ///< the launches
  SmallVector<Operation *> hostOps;

  void add(mpcrt::LaunchOp launch) {
    launches.push_back(launch);
    members.insert(launch);
  }
};
} // namespace

/// Adds the launch, and moves it with its operands to the others, if it can run there. What the
/// host stores for it in between (the 0 from which a test goes on) then moves before all of them.
static bool tryToAdd(IRRewriter &rewriter, Group &group, mpcrt::LaunchOp launch, BufferUses &uses,
                     MemoryOrder &order) {
  if (group.launches.empty())
    return false;
  Operation *first = group.launches.front();
  bool needsHost = false;
  auto isOrderedWithLaunch = [&](Operation *op) {
    return order.anyOrderedWith(op, first, launch, [&](Operation *other) {
      const bool isMember = group.members.contains(other);
      needsHost |= !isMember;
      return isMember;
    });
  };
  if (isOrderedWithLaunch(launch))
    return false;
  SmallVector<Operation *> stores;
  SmallVector<Value> operands(launch->getOperands());
  if (needsHost)
    for (Operation *op : llvm::reverse(group.hostOps)) {
      if (!uses.dependOnEachOther(op, launch) && llvm::none_of(stores, [&](Operation *store) {
            return uses.dependOnEachOther(op, store);
          }))
        continue;
      if (!isa<memref::StoreOp>(op) || isOrderedWithLaunch(op))
        return false;
      stores.push_back(op);
      llvm::append_range(operands, op->getOperands());
    }
  if (!order.moveDefinitions(rewriter, operands, first))
    return false;
  for (Operation *store : llvm::reverse(stores)) {
    rewriter.moveOpBefore(store, first);
    llvm::erase(group.hostOps, store);
  }
  rewriter.moveOpAfter(launch, group.launches.back());
  group.add(launch);
  return true;
}

static void close(IRRewriter &rewriter, Group &group) {
  if (group.launches.size() > 1) {
    rewriter.setInsertionPointAfter(group.launches.back());
    auto all = mpcrt::LaunchAllOp::create(rewriter, group.launches.front().getLoc());
    Block &body = all.getBody().emplaceBlock();
    for (mpcrt::LaunchOp launch : group.launches)
      launch->moveBefore(&body, body.end());
    remark::passed(all.getLoc(), remark::RemarkOpts::name("join-launches").category("mpc-kernels"))
        << ("one fork for " + Twine(group.launches.size()) + " launches, from " +
            group.launches.front().getKernel() + " on")
               .str();
  }
  group = {};
}

static void joinLaunches(Block &block, BufferUses &uses) {
  MemoryOrder order(block, uses);
  IRRewriter rewriter(block.getParent()->getContext());
  Group group;
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (isMemoryEffectFree(&op))
      continue;
    auto launch = dyn_cast<mpcrt::LaunchOp>(op);
    if (!launch) {
      // Nothing moves over a library call: what it leaves in the caches is read next.
      if (isa_and_nonnull<mpcrt::MpcrtDialect>(op.getDialect()))
        close(rewriter, group);
      else
        group.hostOps.push_back(&op);
      continue;
    }
    if (tryToAdd(rewriter, group, launch, uses, order))
      continue;
    close(rewriter, group);
    group.add(launch);
  }
  close(rewriter, group);
}

namespace {
struct JoinLaunchesPass : mpc::impl::JoinLaunchesBase<JoinLaunchesPass> {
  void runOnModule() override {
    BufferUses uses(getOperation());
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (isEntry(function))
        joinLaunches(function.getBody().front(), uses);
  }
};
} // namespace
