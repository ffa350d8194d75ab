// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mpc.scan and mpc.reverse: verifiers, what canonicalisation drops, reference values.
#include "dialects/mpc/IR/Mpc.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace mpc;

// ---- Structure ----------------------------------------------------------------------------------

Block::BlockArgListType ScanOp::getCarried() {
  return getBody().front().getArguments().take_front(getInits().size());
}
Block::BlockArgListType ScanOp::getSlices() {
  return getBody().front().getArguments().slice(getInits().size(), getScanned().size());
}
Block::BlockArgListType ScanOp::getCaptured() {
  return getBody().front().getArguments().take_back(getCaptures().size());
}
YieldOp ScanOp::getYield() { return cast<YieldOp>(getBody().front().getTerminator()); }

Value ScanOp::findStack(Value value) {
  OperandRange outputs = getYield().getValues().drop_front(getInits().size());
  for (auto [output, stacked] : llvm::zip_equal(outputs, getStacked()))
    if (output == value)
      return stacked;
  return {};
}

RankedTensorType ScanOp::stackType(RankedTensorType type, int64_t steps) {
  SmallVector<int64_t> shape(type.getShape());
  shape.insert(shape.begin() + 1, steps);
  return type.clone(shape);
}

RankedTensorType ScanOp::sliceType(RankedTensorType type) {
  SmallVector<int64_t> shape(type.getShape());
  shape.erase(shape.begin() + 1);
  return type.clone(shape);
}

LogicalResult ScanOp::verify() {
  Block &body = getBody().front();
  int64_t steps = getSteps();
  if (steps < 1)
    return emitOpError() << "must have at least one step, got " << steps;
  if (body.getNumArguments() != getNumOperands())
    return emitOpError() << "body has " << body.getNumArguments() << " arguments for "
                         << getNumOperands() << " operands";
  auto expect = [&](Value argument, Type type, StringRef what, size_t i) -> LogicalResult {
    if (argument.getType() == type)
      return success();
    return emitOpError() << "body takes " << what << " " << i << " as " << argument.getType()
                         << ", but it is " << type;
  };
  for (auto [i, argument, init] : llvm::enumerate(getCarried(), getInits()))
    if (failed(expect(argument, init.getType(), "carried value", i)))
      return failure();
  for (auto [i, argument, scanned] : llvm::enumerate(getSlices(), getScanned())) {
    auto type = tensorTypeOf(scanned);
    if (type.getRank() < 2 || type.getDimSize(1) != steps)
      return emitOpError() << "scans " << type << ", whose dimension 1 is not its " << steps
                           << " steps";
    if (failed(expect(argument, sliceType(type), "the slice of scanned tensor", i)))
      return failure();
  }
  for (auto [i, argument, capture] : llvm::enumerate(getCaptured(), getCaptures()))
    if (failed(expect(argument, capture.getType(), "capture", i)))
      return failure();
  OperandRange yielded = getYield().getValues();
  if (yielded.size() != getNumResults() || getNumResults() < getInits().size())
    return emitOpError() << "has " << getNumResults() << " results, but its body yields "
                         << yielded.size() << " values, of which " << getInits().size()
                         << " are carried";
  for (auto [i, value, init] : llvm::enumerate(yielded.take_front(getInits().size()), getInits()))
    if (value.getType() != init.getType() || getResult(i).getType() != init.getType())
      return emitOpError() << "carries value " << i << " as " << init.getType() << ", but yields "
                           << value.getType() << " and returns " << getResult(i).getType();
  for (auto [value, stacked] :
       llvm::zip_equal(yielded.drop_front(getInits().size()), getStacked())) {
    auto type = tensorTypeOf(value);
    if (type.getRank() < 1 || stacked.getType() != stackType(type, steps))
      return emitOpError() << "stacks outputs of type " << type << " into " << stacked.getType();
  }
  return success();
}

LogicalResult ReverseOp::verify() {
  auto type = tensorTypeOf(getInput());
  if (int64_t axis = getAxis(); axis < 1 || axis >= type.getRank())
    return emitOpError() << "axis " << axis << " is the batch or outside of " << type;
  return success();
}

// ---- Simplification -----------------------------------------------------------------------------

OpFoldResult ReverseOp::fold(FoldAdaptor) {
  auto inner = getInput().getDefiningOp<ReverseOp>();
  if (inner && inner.getAxis() == getAxis())
    return inner.getInput();
  return {};
}

namespace {
/// Drops stacked results that nothing reads, and scanned tensors and captures that the body does
/// not read.
struct DropUnused : OpRewritePattern<ScanOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ScanOp op, PatternRewriter &rewriter) const override {
    const size_t carried = op.getInits().size();
    SmallVector<unsigned> keptResults;
    for (unsigned i = 0; i < op.getNumResults(); ++i)
      if (i < carried || !op.getResult(i).use_empty())
        keptResults.push_back(i);
    llvm::BitVector dropped(op.getNumOperands());
    for (BlockArgument argument : op.getBody().front().getArguments())
      if (argument.getArgNumber() >= carried && argument.use_empty())
        dropped.set(argument.getArgNumber());
    if (keptResults.size() == op.getNumResults() && dropped.none())
      return rewriter.notifyMatchFailure(op, "every operand and result is used");

    SmallVector<Value> inits(op.getInits()), scanned, captures, yielded;
    for (auto [i, value] : llvm::enumerate(op.getScanned()))
      if (!dropped[carried + i])
        scanned.push_back(value);
    for (auto [i, value] : llvm::enumerate(op.getCaptures()))
      if (!dropped[carried + op.getScanned().size() + i])
        captures.push_back(value);
    SmallVector<Type> types;
    for (unsigned i : keptResults) {
      types.push_back(op.getResult(i).getType());
      yielded.push_back(op.getYield().getValues()[i]);
    }
    auto result = ScanOp::create(rewriter, op.getLoc(), types, inits, scanned, captures,
                                 op.getSteps(), op.getReverse());
    rewriter.modifyOpInPlace(op.getYield(),
                             [&] { op.getYield().getValuesMutable().assign(yielded); });
    rewriter.inlineRegionBefore(op.getBody(), result.getBody(), result.getBody().end());
    rewriter.modifyOpInPlace(result, [&] { result.getBody().front().eraseArguments(dropped); });
    for (auto [i, kept] : llvm::enumerate(keptResults))
      rewriter.replaceAllUsesWith(op.getResult(kept), result.getResult(i));
    rewriter.eraseOp(op);
    return success();
  }
};

/// Carried values that no step changes become captures; those that no result and no other carried
/// value needs go.
struct DropIdleCarried : OpRewritePattern<ScanOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ScanOp op, PatternRewriter &rewriter) const override {
    const size_t carried = op.getInits().size();
    SmallVector<bool> isNeeded = findNeeded(op);
    llvm::BitVector dropped(op.getNumOperands());
    SmallVector<Value> inits, captures(op.getCaptures()), next;
    SmallVector<unsigned> kept, unchanged;
    for (unsigned i = 0; i < carried; ++i) {
      Value yielded = op.getYield().getValues()[i];
      if (yielded == op.getCarried()[i])
        unchanged.push_back(i);
      if (yielded == op.getCarried()[i] || !isNeeded[i]) {
        dropped.set(i);
        continue;
      }
      kept.push_back(i);
      inits.push_back(op.getInits()[i]);
      next.push_back(yielded);
    }
    if (dropped.none())
      return rewriter.notifyMatchFailure(op, "every carried value changes and is needed");
    for (unsigned i : unchanged)
      captures.push_back(op.getInits()[i]);
    SmallVector<Type> types(ValueRange(inits).getTypes());
    for (Value stacked : op.getStacked())
      types.push_back(stacked.getType());
    llvm::append_range(next, op.getYield().getValues().drop_front(carried));
    auto result = ScanOp::create(rewriter, op.getLoc(), types, inits, op.getScanned(), captures,
                                 op.getSteps(), op.getReverse());
    rewriter.modifyOpInPlace(op.getYield(), [&] { op.getYield().getValuesMutable().assign(next); });
    rewriter.inlineRegionBefore(op.getBody(), result.getBody(), result.getBody().end());
    Block &body = result.getBody().front();
    rewriter.modifyOpInPlace(result, [&] {
      for (unsigned i : unchanged)
        body.getArgument(i).replaceAllUsesWith(
            body.addArgument(body.getArgument(i).getType(), op.getLoc()));
      // The ops that computed a value that is no longer carried are dead now.
      for (Operation &inner : llvm::make_early_inc_range(llvm::reverse(body)))
        if (isOpTriviallyDead(&inner))
          rewriter.eraseOp(&inner);
      for (unsigned i = 0; i < carried; ++i)
        if (dropped[i])
          body.getArgument(i).dropAllUses();
      dropped.resize(body.getNumArguments());
      body.eraseArguments(dropped);
    });
    for (unsigned i : unchanged)
      rewriter.replaceAllUsesWith(op.getResult(i), op.getInits()[i]);
    for (auto [position, i] : llvm::enumerate(kept))
      rewriter.replaceAllUsesWith(op.getResult(i), result.getResult(unsigned(position)));
    for (auto [old, stacked] : llvm::zip_equal(op.getStacked(), result.getStacked()))
      rewriter.replaceAllUsesWith(old, stacked);
    rewriter.eraseOp(op);
    return success();
  }

  /// Whether each carried value reaches a result that is used, through any number of steps.
  static SmallVector<bool> findNeeded(ScanOp op) {
    const size_t carried = op.getInits().size();
    OperandRange yielded = op.getYield().getValues();
    SmallVector<bool> isNeeded(carried);
    llvm::DenseSet<Value> reached;
    SmallVector<Value> open(yielded.drop_front(carried));
    for (size_t i = 0; i < carried; ++i)
      if ((isNeeded[i] = !op.getResult(unsigned(i)).use_empty()))
        open.push_back(yielded[i]);
    Block &body = op.getBody().front();
    while (!open.empty()) {
      Value value = open.pop_back_val();
      if (!reached.insert(value).second)
        continue;
      if (auto argument = dyn_cast<BlockArgument>(value)) {
        const unsigned number = argument.getArgNumber();
        if (argument.getOwner() == &body && number < carried && !isNeeded[number]) {
          isNeeded[number] = true;
          open.push_back(yielded[number]);
        }
        continue;
      }
      // Bodies of ops inside are isolated: what they use are their operands.
      llvm::append_range(open, value.getDefiningOp()->getOperands());
    }
    return isNeeded;
  }
};
} // namespace

void ScanOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<DropIdleCarried, DropUnused>(context);
}

// ---- Reference values ---------------------------------------------------------------------------

/// Offsets of the elements that step `step` has in a tensor with the steps as dimension 1.
static SmallVector<int64_t, 0> stepOffsets(ArrayRef<int64_t> stacked, int64_t step) {
  SmallVector<int64_t> strides = rowMajorStrides(stacked), extents(stacked);
  const int64_t start = step * strides[1];
  extents.erase(extents.begin() + 1);
  strides.erase(strides.begin() + 1);
  SmallVector<int64_t, 0> offsets = stridedOffsets(extents, strides);
  for (int64_t &offset : offsets)
    offset += start;
  return offsets;
}

LogicalResult ScanOp::evaluate(ArrayRef<ReferenceTensor> operands,
                               MutableArrayRef<ReferenceTensor> results) {
  const size_t carried = getInits().size(), scanned = getScanned().size();
  const int64_t steps = getSteps();
  SmallVector<ReferenceTensor> arguments(operands), yielded;
  for (int64_t i = 0; i < steps; ++i) {
    const int64_t step = getReverse() ? steps - 1 - i : i;
    for (size_t s = 0; s < scanned; ++s) {
      const ReferenceTensor &whole = operands[carried + s];
      SmallVector<int64_t> shape(whole.shape);
      shape.erase(shape.begin() + 1);
      startReference(arguments[carried + s], whole.elementType, shape);
      gatherReference(whole, stepOffsets(whole.shape, step), arguments[carried + s]);
    }
    yielded.clear();
    if (failed(evaluateBlock(getBody().front(), arguments, yielded)))
      return failure();
    for (size_t c = 0; c < carried; ++c)
      arguments[c] = yielded[c];
    for (size_t r = carried; r < yielded.size(); ++r) {
      SmallVector<int64_t> shape(yielded[r].shape);
      shape.insert(shape.begin() + 1, steps);
      if (i == 0)
        startReference(results[r], yielded[r].elementType, shape);
      for (auto [from, to] : llvm::enumerate(stepOffsets(shape, step)))
        if (yielded[r].isFloating())
          results[r].floats[to] = yielded[r].floats[from];
        else
          results[r].integers[to] = yielded[r].integers[from];
    }
  }
  for (size_t c = 0; c < carried; ++c)
    results[c] = arguments[c];
  return success();
}

LogicalResult ReverseOp::evaluate(ArrayRef<ReferenceTensor> operands,
                                  MutableArrayRef<ReferenceTensor> results) {
  const ReferenceTensor &input = operands[0];
  SmallVector<int64_t> strides = rowMajorStrides(input.shape);
  const int64_t axis = getAxis(), start = (input.shape[axis] - 1) * strides[axis];
  strides[axis] = -strides[axis];
  SmallVector<int64_t, 0> offsets = stridedOffsets(input.shape, strides);
  for (int64_t &offset : offsets)
    offset += start;
  startReference(results[0], input.elementType, input.shape);
  gatherReference(input, offsets, results[0]);
  return success();
}

LogicalResult ReverseOp::buildVjp(OpBuilder &builder, ValueRange cotangents, ArrayRef<bool>,
                                  MutableArrayRef<Value> operandCotangents) {
  operandCotangents[0] = ReverseOp::create(builder, getLoc(), cotangents[0], getAxis());
  return success();
}
