// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// mpc-send-early: what ranks reduce is computed as soon as it can be, and what waits for it stands
// behind all of that, in the order of the reductions. Messages then go while ranks compute: the
// gradient of a weight while the backward pass goes on to the layer before, the last gradients
// while the first ones update their variables.
#include "mlir/Transforms/RegionUtils.h"
#include "mpc/Transforms/Passes.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace mpc;

namespace mpc {
#define GEN_PASS_DEF_SENDEARLY
#include "mpc/Transforms/Passes.h.inc"
} // namespace mpc

/// Calls `see` with each op that computes what this one reads, in its regions, too.
static void forEachSource(Operation *op, llvm::function_ref<void(Operation *)> see) {
  for (Value value : op->getOperands())
    if (Operation *source = value.getDefiningOp())
      see(source);
  visitUsedValuesDefinedAbove(op->getRegions(), [&](OpOperand *read) {
    if (Operation *source = read->get().getDefiningOp())
      see(source);
  });
}

namespace {
/// Moves ops of the body of one entry.
class Scheduler {
public:
  explicit Scheduler(func::FuncOp entry) : body(entry.getBody().front()) {}

  void run() {
    SmallVector<AllReduceOp> reductions(body.getOps<AllReduceOp>());
    if (reductions.empty())
      return;
    for (Operation &op : body) {
      places[&op] = numbered.size();
      numbered.push_back(&op);
    }
    // By their places, because that is the order in which they go: what one alone needs comes
    // behind those that go before it.
    std::vector<Tree> trees;
    for (AllReduceOp reduction : reductions)
      trees.push_back(findTree(reduction));
    std::vector<std::pair<unsigned, unsigned>> order;
    for (auto [i, tree] : llvm::enumerate(trees))
      order.emplace_back(places[tree.back()], i);
    llvm::sort(order);
    for (auto [place, i] : order)
      for (Operation *op : trees[i])
        raise(op);
    // All at once: a block whose ops move numbers them anew for the next question about its order.
    for (auto &[place, ops] : raised) {
      Operation *last = numbered[place];
      for (Operation *op : ops) {
        op->moveAfter(last);
        last = op;
      }
    }
    orderBehind();
  }

private:
  /// A reduction, and before it what only it needs, sources first. Each op gets its place: behind
  /// the last value that it needs.
  using Tree = SmallVector<Operation *, 0>;
  Tree findTree(AllReduceOp reduction) {
    // Chains may be long: no recursion. Each op is read once, so this is a tree; backwards, sources
    // come before their readers, in the order of operands.
    Tree tree;
    SmallVector<Operation *> left{reduction};
    while (!left.empty()) {
      Operation *op = tree.emplace_back(left.pop_back_val());
      forEachSource(op, [&](Operation *source) {
        if (isReadOnce(source))
          left.push_back(source);
      });
    }
    std::reverse(tree.begin(), tree.end());
    for (Operation *op : tree)
      locate(op);
    return tree;
  }

  static bool isReadOnce(Operation *source) {
    return source->hasOneUse() && !isa<AllReduceOp>(source) && source->getNumRegions() == 0;
  }
  bool isFree(Operation *source) const { return unplaced.contains(source) && isReadOnce(source); }

  /// An op that needs arguments of the entry alone stays where it is until its reader moves.
  void locate(Operation *op) {
    std::optional<unsigned> last;
    forEachSource(op, [&](Operation *source) {
      if (!isFree(source))
        last = std::max(last.value_or(0), places[source]);
    });
    if (last)
      places[op] = *last;
    else
      unplaced.insert(op);
  }

  /// Puts an op, whose sources that it alone reads were put, last behind its place so far.
  void raise(Operation *op) {
    if (unplaced.contains(op))
      return;
    const unsigned place = places[op];
    forEachSource(op, [&](Operation *source) {
      if (isFree(source))
        bring(source, place);
    });
    raised[place].push_back(op);
  }

  /// Puts an op that needs arguments alone, and what it is made of, in front of the one that reads
  /// it and comes next to `place`, unless it is there.
  void bring(Operation *op, unsigned place) {
    SmallVector<Operation *> found, left{op};
    while (!left.empty()) {
      Operation *source = left.pop_back_val();
      if (places[source] < place)
        continue;
      found.push_back(source);
      forEachSource(source, [&](Operation *next) { left.push_back(next); });
    }
    raised[place].append(found.rbegin(), found.rend());
  }

  /// Ops that need a reduction, and that none needs, come behind the last one: in their order.
  void orderBehind() {
    llvm::DenseSet<Operation *> leads; // to a reduction
    for (Operation &op : llvm::reverse(body.without_terminator()))
      if (isa<AllReduceOp>(op) || leads.contains(&op))
        forEachSource(&op, [&](Operation *source) { leads.insert(source); });
    llvm::DenseMap<Operation *, unsigned> needs; // the number of the last reduction, from 1 on
    std::vector<SmallVector<Operation *, 0>> behind(1); // by that number
    for (Operation &op : body.without_terminator()) {
      unsigned own = 0;
      forEachSource(&op, [&](Operation *source) { own = std::max(own, needs.lookup(source)); });
      if (isa<AllReduceOp>(op)) {
        own = behind.size();
        behind.emplace_back();
      } else if (own != 0 && !leads.contains(&op)) {
        behind[own].push_back(&op);
      }
      needs[&op] = own;
    }
    for (ArrayRef<Operation *> ops : behind)
      for (Operation *op : ops)
        op->moveBefore(body.getTerminator());
  }

  Block &body;
  std::vector<Operation *> numbered; ///< as they stood in the beginning
  /// The number of the op itself, or of the one that it was raised to.
  llvm::DenseMap<Operation *, unsigned> places;
  /// By such a number: what comes behind that op, in order.
  llvm::MapVector<unsigned, SmallVector<Operation *>> raised;
  llvm::DenseSet<Operation *> unplaced; ///< that need arguments of the entry alone
};

struct SendEarlyPass : mpc::impl::SendEarlyBase<SendEarlyPass> {
  using SendEarlyBase::SendEarlyBase;

  LogicalResult runOnEntry(func::FuncOp entry) const override {
    Scheduler(entry).run();
    return success();
  }
};
} // namespace
