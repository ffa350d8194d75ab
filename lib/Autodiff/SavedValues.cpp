// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Decides which values of the forward pass backward code keeps and which it recomputes, with
// remarks about those it keeps.
#include "dialects/mpc/IR/Mpc.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mpc/Analysis/LayerPath.h"
#include "mpc/Autodiff/ReverseMode.h"

using namespace mlir;
using namespace mpc;

/// Bytes of the static extents: per sample when the batch is dynamic, else of the whole tensor.
static int64_t bytesOf(Value value) {
  auto type = tensorTypeOf(value);
  int64_t bits = type.getElementTypeBitWidth(), bytes = bits < 8 ? 1 : bits / 8;
  for (int64_t extent : type.getShape())
    bytes *= ShapedType::isDynamic(extent) ? 1 : extent;
  return bytes;
}

static bool dependsOnBatch(Value value) { return !tensorTypeOf(value).hasStaticShape(); }

/// Uses of a forward value by ops behind `seed`, the function's return aside.
static SmallVector<OpOperand *> backwardUses(Value value, Operation *seed) {
  SmallVector<OpOperand *> uses;
  for (OpOperand &use : value.getUses())
    if (use.getOwner()->getBlock() == seed->getBlock() && seed->isBeforeInBlock(use.getOwner()) &&
        !use.getOwner()->hasTrait<OpTrait::IsTerminator>())
      uses.push_back(&use);
  return uses;
}

static SmallVector<Operation *> forwardOps(Operation *seed) {
  SmallVector<Operation *> ops;
  for (Operation &op : llvm::make_range(seed->getBlock()->begin(), seed->getIterator()))
    ops.push_back(&op);
  return ops;
}

/// Memory that keeping the op's operands for the backward pass would add.
static int64_t costOfOperands(Operation *op, Operation *seed) {
  int64_t cost = 0;
  for (Value operand : op->getOperands())
    if (operand.getDefiningOp() && dependsOnBatch(operand) && backwardUses(operand, seed).empty())
      cost += bytesOf(operand);
  return cost;
}

namespace {
/// Ops are equal when their operands, attributes and types are.
struct EqualOps : llvm::DenseMapInfo<Operation *> {
  static unsigned getHashValue(Operation *op) {
    return OperationEquivalence::computeHash(op, OperationEquivalence::directHashValue,
                                             OperationEquivalence::ignoreHashValue,
                                             OperationEquivalence::IgnoreLocations);
  }
  static bool isEqual(Operation *a, Operation *b) {
    if (a == b || isKey(a) || isKey(b))
      return a == b;
    return OperationEquivalence::isEquivalentTo(a, b, OperationEquivalence::IgnoreLocations);
  }

private:
  static bool isKey(Operation *op) { return op == getEmptyKey() || op == getTombstoneKey(); }
};
} // namespace

// MLIR's CSE would erase ops whose results the entry's builder still holds, and would look at the
// derivative, too; it comes between the phases.
void mpc::shareEqualValues(Operation *seed) {
  llvm::DenseSet<Operation *, EqualOps> known;
  for (Operation *op : forwardOps(seed)) {
    if (op->getNumRegions() != 0 || !isMemoryEffectFree(op))
      continue;
    // In the block's order, so that the operands are the first of their equals already.
    auto [first, isNew] = known.insert(op);
    if (!isNew)
      op->replaceAllUsesWith(*first);
  }
}

void mpc::recomputeCheapValues(Operation *seed) {
  SmallVector<Operation *> ops = forwardOps(seed);
  for (Operation *op : llvm::reverse(ops)) {
    auto differentiable = dyn_cast<DifferentiableOpInterface>(op);
    if (!differentiable || !differentiable.isCheapToRecompute() || op->getNumResults() != 1)
      continue;
    Value result = op->getResult(0);
    SmallVector<OpOperand *> uses = backwardUses(result, seed);
    if (uses.empty() || !dependsOnBatch(result) || costOfOperands(op, seed) >= bytesOf(result))
      continue;
    Operation *first = uses.front()->getOwner();
    for (OpOperand *use : uses)
      if (use->getOwner()->isBeforeInBlock(first))
        first = use->getOwner();
    OpBuilder builder(first);
    Operation *copy = builder.clone(*op);
    copy->setLoc(first->getLoc());
    for (OpOperand *use : uses)
      use->set(copy->getResult(0));
  }
}

void mpc::remarkSavedValues(Operation *seed) {
  auto function = seed->getParentOfType<func::FuncOp>();
  for (Operation *op : forwardOps(seed)) {
    if (op->hasTrait<OpTrait::ConstantLike>())
      continue;
    for (Value result : op->getResults()) {
      if (backwardUses(result, seed).empty())
        continue;
      remark::analysis(op->getLoc(), remark::RemarkOpts::name("saved-for-backward")
                                         .category("mpc-autodiff")
                                         .function(function.getSymName()))
          << remark::add("op={0} layer={1} type={2} bytes{3}={4}", op->getName(),
                         layerPathOf(op->getLoc()), result.getType(),
                         dependsOnBatch(result) ? "-per-sample" : "", bytesOf(result));
    }
  }
}
