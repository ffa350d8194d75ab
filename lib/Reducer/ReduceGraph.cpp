// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// MLIR's reduction-tree erases ops that others read, of which nothing valid is left in a graph of
// values. Here an op leaves a value of its type to its users, so that every trial is a valid
// module.
#include "mpc/Reducer/ReduceGraph.h"
#include "dialects/mpc/IR/Mpc.h"
#include "mlir/IR/Iterators.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Reducer/Tester.h"

using namespace mlir;
using namespace mpc;

/// A value of the result's type to stand for it, or null.
static Value standIn(OpResult result) {
  Operation *op = result.getOwner();
  for (Value operand : op->getOperands())
    if (operand.getType() == result.getType())
      return operand;
  auto type = dyn_cast<RankedTensorType>(result.getType());
  if (!type || !type.hasStaticShape() || isa<ConstantOp>(op))
    return {};
  OpBuilder builder(op);
  return ConstantOp::create(builder, op->getLoc(), type, 0.0);
}

static SmallVector<Operation *> findOps(ModuleOp module) {
  SmallVector<Operation *> ops;
  module.walk([&](Operation *op) {
    if (isa<MpcDialect>(op->getDialect()) && op->getNumResults() != 0)
      ops.push_back(op);
  });
  return ops;
}

static void eraseDead(ModuleOp module) {
  module.walk<WalkOrder::PostOrder, ReverseIterator>([](Operation *op) {
    if (isa<MpcDialect>(op->getDialect()) && isOpTriviallyDead(op))
      op->erase();
  });
}

namespace {
struct ReduceGraphPass : PassWrapper<ReduceGraphPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ReduceGraphPass)
  ReduceGraphPass() = default;
  ReduceGraphPass(const ReduceGraphPass &other) : PassWrapper(other) {}
  StringRef getArgument() const override { return "mpc-reduce-graph"; }
  StringRef getDescription() const override {
    return "replace ops by operands of their type or zeros while a script finds the module "
           "interesting";
  }

  Option<std::string> script{*this, "test",
                             llvm::cl::desc("the script, which ends with 1 on such a module")};

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (!isInteresting(module)) {
      module.emitError() << "mpc-reduce-graph: '" << script
                         << "' does not end with 1 on the module as it is; expected that of what "
                            "is looked for";
      return signalPassFailure();
    }
    for (size_t size = findOps(module).size(); size > 0; size /= 2)
      for (size_t end = findOps(module).size(); end > 0;) {
        // From the end: what only dropped ops read goes with them.
        const size_t begin = end > size ? end - size : 0;
        replace(module, begin, end);
        end = std::min(begin, findOps(module).size());
      }
  }

private:
  bool isInteresting(ModuleOp module) {
    return Tester(script, {}).isInteresting(module).first == Tester::Interestingness::True;
  }

  void replace(ModuleOp module, size_t begin, size_t end) {
    OwningOpRef<ModuleOp> trial = module.clone();
    SmallVector<Operation *> ops = findOps(*trial);
    bool isChanged = false;
    for (Operation *op : ArrayRef(ops).slice(begin, end - begin))
      for (OpResult result : op->getResults())
        if (Value value = result.use_empty() ? Value() : standIn(result)) {
          result.replaceAllUsesWith(value);
          isChanged = true;
        }
    eraseDead(*trial);
    if (isChanged && succeeded(verify(*trial)) && isInteresting(*trial))
      module.getBodyRegion().takeBody(trial->getBodyRegion());
  }
};
} // namespace

void mpc::registerReduceGraph() { PassRegistration<ReduceGraphPass>(); }
