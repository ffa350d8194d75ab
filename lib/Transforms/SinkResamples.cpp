// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mpc-sink-resamples: repeated elements behind what computes each of them for itself, which then
// computes them once.
#include "dialects/mpc/IR/Mpc.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mpc/Transforms/Passes.h"
#include <map>

namespace mpc {
#define GEN_PASS_DEF_SINKRESAMPLES
#include "mpc/Transforms/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;

/// The resampling that gives the value, where its elements are those of its input, some of them
/// more than once; none where it adds zeros, or has as many elements or fewer.
static ResampleOp findRepetition(Value value) {
  auto resample = value.getDefiningOp<ResampleOp>();
  if (!resample || !resample.isSelection() || llvm::is_contained(resample.getIndices(), -1))
    return {};
  RankedTensorType input = tensorTypeOf(resample.getInput()), result = tensorTypeOf(value);
  double growth = 1;
  for (int64_t axis : resample.getAxes())
    growth *= double(result.getDimSize(axis)) / double(input.getDimSize(axis));
  return growth > 1 ? resample : ResampleOp();
}

static bool isAlike(ResampleOp one, ResampleOp other) {
  return one.getAxes() == other.getAxes() && one.getIndices() == other.getIndices() &&
         one.getInput().getType().getShape() == other.getInput().getType().getShape();
}

/// Whether the operand of an elementwise op is the same for all elements that are one element of
/// the repetition's input.
static bool isConstantAlong(Value operand, ResampleOp repetition) {
  ArrayRef<int64_t> shape = tensorTypeOf(operand).getShape();
  int64_t missing = tensorTypeOf(repetition.getResult()).getRank() - int64_t(shape.size());
  return llvm::all_of(repetition.getAxes(), [&](int64_t axis) {
    return axis < missing || shape[size_t(axis - missing)] == 1;
  });
}

/// Computes each element before the repetition. All operands that the repetition's axes have an
/// extent in must be repeated alike.
static ResampleOp sinkBehindElementwise(IRRewriter &rewriter, Operation *op) {
  ResampleOp repetition;
  for (Value operand : op->getOperands()) {
    ResampleOp found = findRepetition(operand);
    if (found && tensorTypeOf(operand).getShape() == tensorTypeOf(op->getResult(0)).getShape())
      repetition = found;
  }
  if (!repetition)
    return {};
  SmallVector<Value> operands;
  for (Value operand : op->getOperands()) {
    ResampleOp found = findRepetition(operand);
    if (found && isAlike(found, repetition))
      operands.push_back(found.getInput());
    else if (isConstantAlong(operand, repetition))
      operands.push_back(operand);
    else
      return {};
  }
  rewriter.setInsertionPoint(op);
  Operation *sunk = rewriter.clone(*op);
  sunk->setOperands(operands);
  RankedTensorType type = tensorTypeOf(op->getResult(0));
  sunk->getResult(0).setType(type.clone(repetition.getInput().getType().getShape()));
  return rewriter.replaceOpWithNewOp<ResampleOp>(op, sunk->getResult(0), repetition.getTables());
}

/// Multiplies each row before the repetition, where that repeats whole rows of the left factor.
static ResampleOp sinkBehindContraction(IRRewriter &rewriter, ContractOp op) {
  ResampleOp repetition = findRepetition(op.getLhs());
  if (!repetition)
    return {};
  SmallVector<int64_t> rows = op.getLhsFree();
  SmallVector<ResampleTable> tables = repetition.getTables();
  SmallVector<int64_t> shape(op.getType().getShape());
  for (ResampleTable &table : tables) {
    const auto *row = llvm::find(rows, table.axis);
    if (row == rows.end())
      return {};
    int64_t before = tensorTypeOf(repetition.getInput()).getDimSize(table.axis);
    table.axis = int64_t(op.getLhsBatch().size()) + (row - rows.begin());
    shape[size_t(table.axis)] = before;
  }
  rewriter.setInsertionPoint(op);
  auto sunk = cast<ContractOp>(rewriter.clone(*op));
  sunk.getLhsMutable().assign(repetition.getInput());
  sunk.getResult().setType(cast<RankedTensorType>(op.getType()).clone(shape));
  return rewriter.replaceOpWithNewOp<ResampleOp>(op, sunk.getResult(), tables);
}

/// Two selections in a row are one, which reads the smaller image.
static void joinSelections(IRRewriter &rewriter, ResampleOp outer) {
  auto inner = outer.getInput().getDefiningOp<ResampleOp>();
  if (!inner || !inner.isSelection() || !outer.isSelection())
    return;
  std::map<int64_t, ResampleTable> tables;
  for (ResampleTable &table : inner.getTables())
    tables[table.axis] = std::move(table);
  for (ResampleTable &table : outer.getTables()) {
    auto [place, isNew] = tables.try_emplace(table.axis, table);
    if (!isNew) {
      for (int64_t &index : table.indices)
        index = index < 0 ? -1 : place->second.indices[size_t(index)];
      place->second = std::move(table);
    }
  }
  rewriter.setInsertionPoint(outer);
  rewriter.replaceOpWithNewOp<ResampleOp>(outer, inner.getInput(),
                                          llvm::to_vector(llvm::make_second_range(tables)));
}

/// Behind the op; the repetitions that it read go where nobody else reads them, because an input
/// with another reader is no neighbour to fuse with.
static void sinkBehind(IRRewriter &rewriter, Operation *op) {
  SmallVector<Operation *> read;
  for (Value operand : op->getOperands())
    if (auto resample = operand.getDefiningOp<ResampleOp>();
        resample && !llvm::is_contained(read, resample))
      read.push_back(resample);
  if (read.empty())
    return;
  if (auto resample = dyn_cast<ResampleOp>(op))
    joinSelections(rewriter, resample);
  else if (auto contraction = dyn_cast<ContractOp>(op))
    sinkBehindContraction(rewriter, contraction);
  else if (isa<ElementwiseOpInterface, CastOp>(op))
    sinkBehindElementwise(rewriter, op);
  for (Operation *resample : read)
    if (isOpTriviallyDead(resample))
      rewriter.eraseOp(resample);
}

namespace {
struct SinkResamplesPass : mpc::impl::SinkResamplesBase<SinkResamplesPass> {
  LogicalResult runOnEntry(func::FuncOp entry) const override {
    IRRewriter rewriter(entry.getContext());
    entry.walk([&](Block *block) {
      for (Operation &op : llvm::make_early_inc_range(*block))
        sinkBehind(rewriter, &op);
    });
    return success();
  }
};
} // namespace
