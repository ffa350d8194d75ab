// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Import/ONNX/BoundFlow.h"

#include "llvm/ADT/TypeSwitch.h"

namespace mpc::onnx {

using mlir::Value;
using Bound = std::optional<BoundedDimension>;
using Axes = llvm::ArrayRef<int64_t>;

namespace {
Axes shapeOf(Value value) { return tensorTypeOf(value).getShape(); }

bool isSplat(Value value) {
  auto constant = value.getDefiningOp<ConstantOp>();
  auto elements = constant ? llvm::dyn_cast<mlir::DenseElementsAttr>(constant.getValue()) : nullptr;
  return elements && elements.isSplat();
}
} // namespace

Bound BoundFlow::find(Value tensor) const {
  auto found = dimensions.find(tensor);
  return found == dimensions.end() ? Bound() : Bound(found->second);
}

mlir::Operation *BoundFlow::run(mlir::Block &block) {
  for (mlir::Operation &op : block) {
    if (llvm::none_of(op.getOperands(), [&](Value operand) { return dimensions.count(operand); }))
      continue;
    const Bound bound = follow(&op);
    if (!bound)
      return &op;
    for (Value result : op.getResults())
      add(result, *bound);
  }
  return nullptr;
}

/// All that is bounded is so in one dimension of the result, in which nothing else has more than
/// one place.
Bound BoundFlow::followElementwise(mlir::ValueRange operands, Value result) const {
  const auto rank = int64_t(shapeOf(result).size());
  Bound all;
  for (Value operand : operands)
    if (Bound own = find(operand)) {
      const int64_t extent = shapeOf(operand)[size_t(own->axis)];
      own->axis += rank - int64_t(shapeOf(operand).size());
      if ((all && !(*all == *own)) || shapeOf(result)[size_t(own->axis)] != extent)
        return {};
      all = own;
    }
  for (Value operand : operands) {
    const int64_t axis = all->axis - (rank - int64_t(shapeOf(operand).size()));
    if (!find(operand) && axis >= 0 && shapeOf(operand)[size_t(axis)] != 1 && !isSplat(operand))
      return {};
  }
  return all;
}

/// The dimension stays where as many elements lie in front of it as before.
Bound BoundFlow::followReshape(ReshapeOp op) const {
  Bound bound = find(op.getInput());
  const Axes from = shapeOf(op.getInput()), to = shapeOf(op.getResult());
  if (mlir::ShapedType::isDynamicShape(from) || mlir::ShapedType::isDynamicShape(to))
    return {};
  int64_t before = 1, passed = 1;
  for (int64_t extent : from.take_front(size_t(bound->axis)))
    before *= extent;
  llvm::SmallVector<int64_t> candidates;
  for (const auto &[d, extent] : llvm::enumerate(to)) {
    if (passed == before && extent == from[size_t(bound->axis)])
      candidates.push_back(int64_t(d));
    passed *= extent;
  }
  if (candidates.size() != 1) // of several with one place each, nothing says which it is
    return {};
  bound->axis = candidates.front();
  return bound;
}

Bound BoundFlow::keepBeside(Value input, int64_t axis) const {
  Bound bound = find(input);
  return bound && bound->axis != axis ? bound : Bound();
}

Bound BoundFlow::followConcatenation(ConcatenateOp op) const {
  const Bound first = keepBeside(op.getInputs().front(), int64_t(op.getAxis()));
  return first && llvm::all_of(op.getInputs(),
                               [&](Value input) {
                                 const Bound own = find(input);
                                 return own && *own == *first;
                               })
             ? first
             : Bound();
}

/// Rows of a table may be named by places that are bounded, or a table beside the axis is; along
/// the axis an index could name a row behind the count.
Bound BoundFlow::followGather(GatherOp op) const {
  const auto axis = int64_t(op.getAxis()), batch = int64_t(op.getBatchDims());
  const int64_t named = int64_t(shapeOf(op.getIndices()).size()) - batch;
  Bound table = find(op.getTable()), indices = find(op.getIndices());
  if (table && (table->axis == axis || (table->axis < batch) != bool(indices)))
    return {};
  if (indices && (indices->axis < batch) != bool(table))
    return {};
  if (table && indices)
    return *table == *indices ? table : Bound();
  if (table) {
    table->axis += table->axis > axis ? named - 1 : 0;
    return table;
  }
  indices->axis += axis - batch;
  return indices;
}

Bound BoundFlow::followContraction(ContractOp op) const {
  if (op.getBias())
    return {};
  auto placeIn = [](Axes dimensions, int64_t axis) -> std::optional<int64_t> {
    auto found = llvm::find(dimensions, axis);
    if (found == dimensions.end())
      return std::nullopt;
    return found - dimensions.begin();
  };
  Bound lhs = find(op.getLhs()), rhs = find(op.getRhs());
  const auto batches = int64_t(op.getLhsBatch().size());
  if (lhs && rhs) {
    const auto one = placeIn(op.getLhsBatch(), lhs->axis),
               other = placeIn(op.getRhsBatch(), rhs->axis);
    if (!one || one != other || lhs->count != rhs->count)
      return {};
    return BoundedDimension{*one, lhs->count};
  }
  const llvm::SmallVector<int64_t> lhsFree = op.getLhsFree(), rhsFree = op.getRhsFree();
  const auto place = lhs ? placeIn(lhsFree, lhs->axis) : placeIn(rhsFree, rhs->axis);
  if (!place)
    return {};
  return BoundedDimension{batches + (lhs ? 0 : int64_t(lhsFree.size())) + *place,
                          lhs ? lhs->count : rhs->count};
}

Bound BoundFlow::followReduction(Value input, Axes axes, bool keepDims) const {
  Bound bound = find(input);
  if (llvm::is_contained(axes, bound->axis))
    return {};
  if (!keepDims)
    bound->axis -= llvm::count_if(axes, [&](int64_t axis) { return axis < bound->axis; });
  return bound;
}

Bound BoundFlow::follow(mlir::Operation *op) const {
  if (llvm::isa<ElementwiseOpInterface>(op))
    return followElementwise(op->getOperands(), op->getResult(0));
  return llvm::TypeSwitch<mlir::Operation *, Bound>(op)
      .Case<CastOp, StopGradientOp>([&](auto each) { return find(each.getInput()); })
      // The type of the other operands is all that matters.
      .Case([&](CastLikeOp each) { return find(each.getInput()); })
      .Case<InTrainingOp, BroadcastLikeOp>(
          [&](auto each) { return followElementwise(each->getOperands(), each.getResult()); })
      .Case([&](ReshapeOp each) { return followReshape(each); })
      .Case([&](TransposeOp each) {
        Bound bound = find(each.getInput());
        bound->axis =
            llvm::find(each.getPermutation(), bound->axis) - each.getPermutation().begin();
        return bound;
      })
      .Case([&](ConcatenateOp each) { return followConcatenation(each); })
      .Case<SliceOp, PadOp, ReverseOp, SoftmaxOp, LogSoftmaxOp>(
          [&](auto each) { return keepBeside(each.getInput(), int64_t(each.getAxis())); })
      .Case([&](GatherOp each) { return followGather(each); })
      .Case([&](OneHotOp each) { return find(each.getIndices()); })
      .Case([&](ReduceOp each) {
        return followReduction(each.getInput(), each.getAxes(), each.getKeepDims());
      })
      .Case([&](ArgMaxOp each) {
        return followReduction(each.getInput(), {int64_t(each.getAxis())}, /*keepDims=*/false);
      })
      .Case([&](MomentsOp each) {
        return followReduction(each.getInput(), each.getAxes(), each.getKeepDims());
      })
      .Case([&](ContractOp each) { return followContraction(each); })
      .Default([](mlir::Operation *) { return Bound(); });
}

} // namespace mpc::onnx
