// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// keras/src/layers/merging: Add, Subtract, Multiply, Average, Maximum, Minimum, Concatenate, Dot.
#include "lib/Import/Common/BatchAxis.h"
#include "lib/Import/Keras/LayerRegistry.h"

namespace mpc::keras {
namespace {

using mlir::Value;

/// The inputs, all floating or of one integer type, and of one rank: lower ranks get extents of 1
/// after the batch, as keras/src/layers/merging/base_merge.py reshapes them. Empty after an error.
llvm::SmallVector<Value> getAlignedInputs(LayerBuilder &b) {
  llvm::SmallVector<Value> values(b.getInputs());
  if (values.empty())
    b.error("a merging layer needs a list of at least one input");
  if (b.hasFailed())
    return {};
  auto isFloat = [](Value value) { return mlir::isa<mlir::FloatType>(elementTypeOf(value)); };
  if (!llvm::all_of(values, isFloat) &&
      (elementTypeOf(values.front()).isInteger(1) ||
       !llvm::all_equal(llvm::map_range(values, elementTypeOf)))) {
    b.error("merging of truth values, or of integers with floating tensors or other integer types, "
            "is not supported; give the model inputs of one dtype");
    return {};
  }
  int64_t rank = 0;
  for (Value value : values)
    rank = std::max(rank, b.rankOf(value));
  for (Value &value : values) {
    llvm::SmallVector<int64_t> shape(b.shapeOf(value));
    if (int64_t(shape.size()) == rank)
      continue;
    shape.insert(shape.begin() + 1, rank - shape.size(), 1);
    value = b.makeReshape(value, shape);
  }
  llvm::SmallVector<llvm::ArrayRef<int64_t>> shapes;
  for (Value value : values)
    shapes.push_back(b.shapeOf(value));
  if (mlir::failed(broadcastShapes(shapes))) {
    b.error("the inputs have shapes that do not broadcast; give them equal shapes");
    return {};
  }
  return values;
}

/// The union of the inputs' masks, if all have one (base_merge.py, compute_mask). In Keras 2 the
/// intersection of those that there are.
void mergeMasks(LayerBuilder &b) {
  const bool isKeras2 = b.layer.version.isKeras2();
  Value merged;
  for (Value input : b.getInputs()) {
    Value mask = b.getMaskOf(input);
    if (!mask && !isKeras2)
      return;
    if (!mask)
      continue;
    if (!merged)
      merged = mask;
    else if (failed(broadcastShapes({b.shapeOf(merged), b.shapeOf(mask)})))
      return void(b.error("the inputs have masks of different shapes"));
    else
      merged = isKeras2 ? Value(b.make<LogicalAndOp>(merged, mask)) : b.makeOr(merged, mask);
  }
  if (merged)
    b.setMask(0, merged);
}

/// Folds the inputs from the left, one rounding per op, as Keras does.
template <typename Op> Value importFold(LayerBuilder &b) {
  llvm::SmallVector<Value> values = getAlignedInputs(b);
  if (values.empty())
    return {};
  Value result = values.front();
  for (Value value : llvm::drop_begin(values))
    result = b.make<Op>(result, value);
  mergeMasks(b);
  return result;
}

Value importSubtract(LayerBuilder &b) {
  if (b.getInputs().size() != 2)
    return b.error("Subtract takes exactly 2 inputs, not " + llvm::Twine(b.getInputs().size()));
  return importFold<SubtractOp>(b);
}

Value importAverage(LayerBuilder &b) {
  for (Value value : b.getInputs())
    if (!mlir::isa<mlir::FloatType>(elementTypeOf(value)))
      return b.error("Average of integers is not supported; give the model floating inputs");
  Value sum = importFold<AddOp>(b);
  return sum ? b.make<DivideOp>(sum, b.makeConstant(double(b.getInputs().size()))) : Value();
}

/// Unmasked inputs count as ones; masks spread over the features and join as the inputs do, and a
/// step counts where any feature does, in Keras 2 where all do (concatenate.py, compute_mask).
void joinMasks(LayerBuilder &b, int64_t axis) {
  llvm::SmallVector<Value> masks;
  for (Value input : b.getInputs())
    masks.push_back(b.getMaskOf(input));
  if (llvm::none_of(masks, [](Value mask) { return bool(mask); }))
    return;
  for (auto [input, mask] : llvm::zip_equal(b.getInputs(), masks)) {
    llvm::SmallVector<int64_t> shape;
    if (mask) {
      shape.assign(b.shapeOf(mask).begin(), b.shapeOf(mask).end());
      if (int64_t(shape.size()) < b.rankOf(input)) {
        shape.push_back(1);
        mask = b.makeReshape(mask, shape);
      }
      if (int64_t(shape.size()) != b.rankOf(input) ||
          failed(broadcastShapes({shape, b.shapeOf(input)}))) {
        b.error("the mask of an input of Concatenate does not fit the input");
        return;
      }
    } else {
      // Keras: ones_like(input).
      mask = b.makeCompare(ComparePredicate::EQ, b.makeZero(b.builder.getI1Type()),
                           b.makeZero(b.builder.getI1Type()));
    }
    if (shape != b.shapeOf(input))
      mask = b.make<BroadcastLikeOp>(mask, input);
  }
  Value joined =
      masks.size() == 1 ? masks.front() : b.make<ConcatenateOp>(mlir::ValueRange(masks), axis);
  b.setMask(0, b.make<ReduceOp>(b.layer.version.isKeras2() ? ReduceKind::All : ReduceKind::Any,
                                joined, llvm::ArrayRef<int64_t>{b.rankOf(joined) - 1},
                                /*keep_dims=*/false));
}

Value importConcatenate(LayerBuilder &b) {
  llvm::ArrayRef<Value> values = b.getInputs();
  if (values.empty())
    return b.error("Concatenate needs a list of at least one input");
  std::optional<int64_t> axis = resolveAxis(b, b.getInteger("axis", -1), values.front());
  if (!axis)
    return {};
  llvm::SmallVector<int64_t> expected(b.shapeOf(values.front()));
  for (Value value : values) {
    llvm::SmallVector<int64_t> shape(b.shapeOf(value));
    if (elementTypeOf(value) != elementTypeOf(values.front()))
      return b.error("Concatenate of integers with floating tensors, or of different integer "
                     "types, is not supported");
    if (shape.size() == expected.size())
      shape[*axis] = expected[*axis];
    if (shape != expected)
      return b.error("the inputs of Concatenate differ in another axis than axis " +
                     llvm::Twine(*axis));
  }
  joinMasks(b, *axis);
  if (values.size() == 1)
    return values.front();
  return b.make<ConcatenateOp>(mlir::ValueRange(values), *axis);
}

/// Sums products along one axis of each input, sample by sample (keras/src/layers/merging/dot.py).
Value importDot(LayerBuilder &b) {
  llvm::ArrayRef<Value> inputs = b.getInputs();
  if (inputs.size() != 2)
    return b.error("Dot takes exactly 2 inputs, not " + llvm::Twine(inputs.size()));
  llvm::SmallVector<Value> values(inputs);
  llvm::SmallVector<int64_t> axes;
  const llvm::json::Value *config = b.layer.config.get("axes");
  if (config && config->getAsInteger())
    axes.assign(2, *config->getAsInteger());
  else
    axes = b.getIntegers("axes", 0).value_or(llvm::SmallVector<int64_t>());
  if (axes.size() != 2)
    return b.error("'axes' of Dot must be an integer or two integers");
  for (auto [axis, value] : llvm::zip_equal(axes, values)) {
    if (!mlir::isa<mlir::FloatType>(elementTypeOf(value)))
      return b.error("Dot of integer tensors is not supported; give the model floating inputs");
    if (b.rankOf(value) < 2)
      return b.error("Dot takes inputs of at least 2 dimensions");
    axis = resolveAxis(b, axis, value).value_or(0);
  }
  if (b.hasFailed())
    return {};
  if (b.shapeOf(values[0])[axes[0]] != b.shapeOf(values[1])[axes[1]])
    return b.error("the inputs of Dot have the extents " +
                   llvm::Twine(b.shapeOf(values[0])[axes[0]]) + " and " +
                   llvm::Twine(b.shapeOf(values[1])[axes[1]]) + " along 'axes'");
  if (b.getFlag("normalize", false))
    for (auto [axis, value] : llvm::zip_equal(axes, values))
      value = b.makeUnitNorm(value, axis, b.layer.version.isKeras2() ? kLeastNormOfKeras2 : 1e-7);
  const llvm::SmallVector<int64_t, 1> batch = {0};
  Value result =
      b.make<ContractOp>(values[0], values[1], batch, batch, llvm::ArrayRef<int64_t>(axes[0]),
                         llvm::ArrayRef<int64_t>(axes[1]));
  if (b.rankOf(result) == 1)
    result = b.makeReshape(result, {b.shapeOf(result).front(), 1});
  return result;
}

constexpr LayerEntry kMergingLayers[] = {
    {"Add", importFold<AddOp>},           {"Average", importAverage},
    {"Concatenate", importConcatenate},   {"Dot", importDot},
    {"Maximum", importFold<MaximumOp>},   {"Minimum", importFold<MinimumOp>},
    {"Multiply", importFold<MultiplyOp>}, {"Subtract", importSubtract},
};

} // namespace

llvm::ArrayRef<LayerEntry> mergingLayers() { return kMergingLayers; }

} // namespace mpc::keras
