// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mpc-raise-slices: slices in front of what computes each element for itself, which then is part of
// the kernels that read them.
#include "dialects/mpc/IR/Mpc.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"
#include "mpc/Transforms/Passes.h"

namespace mpc {
#define GEN_PASS_DEF_RAISESLICES
#include "mpc/Transforms/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;

static bool isElementwise(Operation *op) { return isa<ElementwiseOpInterface, CastOp>(op); }

/// Whether an elementwise op alone reads the slice, so that both are one kernel.
static bool joinsReaders(SliceOp slice) {
  return !slice->use_empty() && llvm::all_of(slice->getUsers(), [&](Operation *user) {
    return isElementwise(user) && user->getBlock() == slice->getBlock();
  });
}

/// All readers of the op, if they are slices along one axis that have no element in common: what
/// several read would be computed several times.
static SmallVector<SliceOp> findSlices(Operation *op) {
  SmallVector<SliceOp> slices;
  for (Operation *user : op->getUsers()) {
    auto slice = dyn_cast<SliceOp>(user);
    if (!slice || slice->getBlock() != op->getBlock() || !joinsReaders(slice) ||
        (!slices.empty() && slice.getAxis() != slices.front().getAxis()))
      return {};
    slices.push_back(slice);
  }
  llvm::sort(slices,
             [](SliceOp one, SliceOp other) { return one.getOffset() < other.getOffset(); });
  for (size_t i = 1; i < slices.size(); ++i)
    if (slices[i - 1].getOffset() + slices[i - 1].getSize() > slices[i].getOffset())
      return {};
  return slices;
}

/// The part of an operand that the slice of the result is computed from.
static Value slicePart(IRRewriter &rewriter, Value operand, SliceOp slice) {
  RankedTensorType type = tensorTypeOf(operand);
  const int64_t missing = tensorTypeOf(slice.getInput()).getRank() - type.getRank();
  const int64_t axis = slice.getAxis() - missing;
  if (axis < 0 || type.getDimSize(axis) == 1)
    return operand; // all elements along the axis meet it
  SmallVector<int64_t> shape(type.getShape());
  shape[size_t(axis)] = slice.getSize();
  return SliceOp::create(rewriter, slice.getLoc(), type.clone(shape), operand, axis,
                         slice.getOffset(), slice.getSize());
}

static void raiseBefore(IRRewriter &rewriter, Operation *op) {
  if (!isElementwise(op) || op->getNumResults() != 1)
    return;
  for (SliceOp slice : findSlices(op)) {
    rewriter.setInsertionPoint(op);
    IRMapping parts;
    for (Value operand : op->getOperands())
      parts.map(operand, slicePart(rewriter, operand, slice));
    Operation *raised = rewriter.clone(*op, parts);
    raised->getResult(0).setType(slice.getType());
    rewriter.replaceOp(slice, raised);
  }
  if (op->use_empty())
    rewriter.eraseOp(op);
}

namespace {
struct RaiseSlicesPass : mpc::impl::RaiseSlicesBase<RaiseSlicesPass> {
  LogicalResult runOnEntry(func::FuncOp entry) const override {
    IRRewriter rewriter(entry.getContext());
    // From the last op on: slices go through what is computed one op before the other.
    entry.walk([&](Block *block) {
      for (Operation &op : llvm::make_early_inc_range(llvm::reverse(*block)))
        raiseBefore(rewriter, &op);
    });
    return success();
  }
};
} // namespace
