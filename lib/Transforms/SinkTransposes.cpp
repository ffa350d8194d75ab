// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mpc-sink-transposes: transpositions behind ops that compute each element for itself, where they
// meet the one back, and products meet what follows them.
#include "dialects/mpc/IR/Mpc.h"
#include "mlir/IR/PatternMatch.h"
#include "mpc/Transforms/Passes.h"

namespace mpc {
#define GEN_PASS_DEF_SINKTRANSPOSES
#include "mpc/Transforms/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;

/// The permutation of a transposition among the operands that has the shape of the result, or, for
/// parts of it, any; empty where there is none.
static ArrayRef<int64_t> findPermutation(Operation *op) {
  const bool isJoined = isa<ConcatenateOp>(op);
  for (Value operand : op->getOperands())
    if (auto transpose = operand.getDefiningOp<TransposeOp>())
      if (isJoined || tensorTypeOf(operand).getShape() == tensorTypeOf(op->getResult(0)).getShape())
        return transpose.getPermutation();
  return {};
}

/// The shape as it was before the permutation.
static SmallVector<int64_t> shapeBefore(ArrayRef<int64_t> shape, ArrayRef<int64_t> permutation) {
  SmallVector<int64_t> before(shape.size(), 1);
  for (auto [extent, from] : llvm::zip(shape, permutation))
    before[size_t(from)] = extent;
  return before;
}

/// A shape that broadcasts has its dimensions in the order before the permutation, too, and no ones
/// in front: a vector along the last dimension may become the bias of a product. None where
/// elements would change their order.
static std::optional<SmallVector<int64_t>> broadcastBefore(ArrayRef<int64_t> shape,
                                                           ArrayRef<int64_t> permutation) {
  SmallVector<int64_t> whole(permutation.size() - shape.size(), 1), places;
  llvm::append_range(whole, shape);
  for (auto [extent, from] : llvm::zip(whole, permutation))
    if (extent != 1)
      places.push_back(from);
  if (!llvm::is_sorted(places))
    return std::nullopt;
  SmallVector<int64_t> before = shapeBefore(whole, permutation);
  before.erase(before.begin(), llvm::find_if(before, [](int64_t extent) { return extent != 1; }));
  return before;
}

/// Whether the operand is transposed so.
static bool isTransposed(Value operand, ArrayRef<int64_t> permutation) {
  auto transpose = operand.getDefiningOp<TransposeOp>();
  return transpose && transpose.getPermutation() == permutation;
}

/// Whether the operand without the permutation is there, or has its elements in the same order.
static bool isFree(Operation *op, Value operand, ArrayRef<int64_t> permutation) {
  ArrayRef<int64_t> shape = tensorTypeOf(operand).getShape();
  return isTransposed(operand, permutation) ||
         (!isa<ConcatenateOp>(op) && shape != tensorTypeOf(op->getResult(0)).getShape() &&
          broadcastBefore(shape, permutation));
}

static void sink(IRRewriter &rewriter, Operation *op) {
  const SmallVector<int64_t> permutation(findPermutation(op));
  auto join = dyn_cast<ConcatenateOp>(op);
  // Nothing is joined along the batch.
  if (permutation.empty() || (join && permutation[join.getAxis()] == 0) ||
      !llvm::all_of(op->getOperands(),
                    [&](Value operand) { return isFree(op, operand, permutation); }))
    return;
  rewriter.setInsertionPoint(op);
  SmallVector<Value> operands;
  for (Value operand : op->getOperands()) {
    RankedTensorType type = tensorTypeOf(operand);
    operands.push_back(isTransposed(operand, permutation)
                           ? operand.getDefiningOp<TransposeOp>().getInput()
                           : rewriter.createOrFold<ReshapeOp>(
                                 op->getLoc(),
                                 type.clone(*broadcastBefore(type.getShape(), permutation)),
                                 operand));
  }
  RankedTensorType type = tensorTypeOf(op->getResult(0));
  Operation *sunk = rewriter.clone(*op);
  sunk->setOperands(operands);
  sunk->getResult(0).setType(type.clone(shapeBefore(type.getShape(), permutation)));
  if (join)
    cast<ConcatenateOp>(sunk).setAxis(uint64_t(permutation[join.getAxis()]));
  rewriter.replaceOpWithNewOp<TransposeOp>(op, sunk->getResult(0), permutation);
}

/// Joins transpositions in a row, which may leave none. Those of constants are for the clean-up.
static void join(IRRewriter &rewriter, TransposeOp transpose) {
  SmallVector<OpFoldResult> results;
  if (failed(transpose->fold(results)) || results.empty())
    return;
  if (auto value = dyn_cast<Value>(results.front()))
    rewriter.replaceOp(transpose, value);
}

namespace {
struct SinkTransposesPass : mpc::impl::SinkTransposesBase<SinkTransposesPass> {
  void runOnModule() override {
    IRRewriter rewriter(&getContext());
    getOperation().walk([&](Block *block) {
      for (Operation &op : llvm::make_early_inc_range(*block)) {
        if (auto transpose = dyn_cast<TransposeOp>(op))
          join(rewriter, transpose);
        else if (isa<ElementwiseOpInterface, CastOp, ConcatenateOp>(op))
          sink(rewriter, &op);
      }
    });
  }
};
} // namespace
