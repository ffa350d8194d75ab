// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Resampling by constant tables: verifier, derivative, reference value.
#include "dialects/mpc/IR/Mpc.h"

using namespace mlir;
using namespace mpc;

void ResampleOp::build(OpBuilder &builder, OperationState &state, Value input,
                       ArrayRef<ResampleTable> tables) {
  auto type = tensorTypeOf(input);
  SmallVector<int64_t> shape(type.getShape()), axes, taps, indices;
  SmallVector<double> weights;
  bool weighted =
      llvm::any_of(tables, [](const ResampleTable &table) { return !table.weights.empty(); });
  for (const ResampleTable &table : tables) {
    axes.push_back(table.axis);
    taps.push_back(table.taps);
    llvm::append_range(indices, table.indices);
    if (weighted)
      for (size_t entry = 0; entry < table.indices.size(); ++entry)
        weights.push_back(table.weight(entry));
    shape[table.axis] = table.outputs();
  }
  // Weights are stored as elements, which are printed to the last digit; numbers in an array
  // attribute are not.
  DenseFPElementsAttr stored;
  if (weighted)
    stored = cast<DenseFPElementsAttr>(DenseElementsAttr::get(
        RankedTensorType::get({int64_t(weights.size())}, builder.getF64Type()), ArrayRef(weights)));
  build(builder, state, type.clone(shape), input, axes, taps, indices, stored);
}

SmallVector<ResampleTable> ResampleOp::getTables() {
  SmallVector<ResampleTable> tables;
  ArrayRef<int64_t> indices = getIndices();
  SmallVector<double> stored;
  if (getWeights())
    stored = llvm::to_vector(getWeights()->getValues<double>());
  ArrayRef<double> weights = stored;
  for (auto [axis, taps] : llvm::zip_equal(getAxes(), getTaps())) {
    size_t entries = tensorTypeOf(getResult()).getDimSize(axis) * taps;
    ResampleTable table;
    table.axis = axis;
    table.taps = taps;
    table.indices.assign(indices.begin(), indices.begin() + entries);
    indices = indices.drop_front(entries);
    if (!weights.empty()) {
      table.weights.assign(weights.begin(), weights.begin() + entries);
      weights = weights.drop_front(entries);
    }
    tables.push_back(std::move(table));
  }
  return tables;
}

bool ResampleOp::isSelection() {
  return !getWeights() && llvm::all_of(getTaps(), [](int64_t taps) { return taps == 1; });
}

LogicalResult ResampleOp::verify() {
  auto input = tensorTypeOf(getInput()), result = tensorTypeOf(getResult());
  if (input.getElementType() != result.getElementType() || input.getRank() != result.getRank())
    return emitOpError("must keep element type and rank");
  if (getAxes().size() != getTaps().size() || !llvm::is_sorted(getAxes()) ||
      std::adjacent_find(getAxes().begin(), getAxes().end()) != getAxes().end())
    return emitOpError("needs one number of taps for each axis, axes in ascending order");
  size_t entries = 0;
  for (int64_t d = 0; d < input.getRank(); ++d) {
    const auto *found = llvm::find(getAxes(), d);
    if (found == getAxes().end()) {
      if (input.getDimSize(d) != result.getDimSize(d))
        return emitOpError() << "dimension " << d << " has no table but changes its extent";
      continue;
    }
    int64_t taps = getTaps()[found - getAxes().begin()];
    if (d == 0 || input.isDynamicDim(d) || result.isDynamicDim(d))
      return emitOpError("an axis must not be the batch");
    int64_t count;
    if (taps < 1 || llvm::MulOverflow(taps, result.getDimSize(d), count) ||
        size_t(count) > getIndices().size() - entries)
      return emitOpError() << "the table of axis " << d << " is too short";
    for (int64_t index : getIndices().slice(entries, count))
      if (index < -1 || index >= input.getDimSize(d))
        return emitOpError() << "index " << index << " is outside extent " << input.getDimSize(d)
                             << " of axis " << d;
    entries += count;
  }
  if (llvm::any_of(getAxes(), [&](int64_t axis) { return axis < 0 || axis >= input.getRank(); }))
    return emitOpError("an axis is outside the rank");
  if (entries != getIndices().size())
    return emitOpError("has more indices than outputs");
  if (getWeights() && size_t(getWeights()->size()) != entries)
    return emitOpError("needs one weight for each index");
  if (!isSelection() && !isa<FloatType>(input.getElementType()))
    return emitOpError("sums floating elements only");
  return success();
}

PrecisionClass ResampleOp::getPrecisionClass() {
  return isSelection() ? PrecisionClass::Follow : PrecisionClass::Keep32;
}

LogicalResult ResampleOp::buildVjp(OpBuilder &builder, ValueRange cotangents, ArrayRef<bool>,
                                   MutableArrayRef<Value> operandCotangents) {
  SmallVector<ResampleTable> transposed;
  for (const ResampleTable &table : getTables())
    transposed.push_back(table.transposed(tensorTypeOf(getInput()).getDimSize(table.axis)));
  operandCotangents[0] = ResampleOp::create(builder, getLoc(), cotangents[0], transposed);
  return success();
}

/// One axis, in double.
static ReferenceTensor resampleAlong(const ReferenceTensor &input, const ResampleTable &table) {
  ReferenceTensor result;
  SmallVector<int64_t> shape(input.shape);
  shape[table.axis] = table.outputs();
  startReference(result, input.elementType, shape);
  int64_t inner = 1, outer = 1;
  for (auto [d, extent] : llvm::enumerate(input.shape))
    (int64_t(d) < table.axis ? outer : inner) *= int64_t(d) == table.axis ? 1 : extent;
  int64_t extent = input.shape[table.axis];
  for (int64_t o = 0; o < outer; ++o)
    for (size_t entry = 0; entry < table.indices.size(); ++entry) {
      if (table.indices[entry] < 0)
        continue;
      int64_t from = (o * extent + table.indices[entry]) * inner;
      int64_t to = (o * table.outputs() + int64_t(entry) / table.taps) * inner;
      for (int64_t i = 0; i < inner; ++i)
        if (input.isFloating())
          result.floats[to + i] += table.weight(entry) * input.floats[from + i];
        else
          result.integers[to + i] = input.integers[from + i];
    }
  return result;
}

LogicalResult ResampleOp::evaluate(ArrayRef<ReferenceTensor> operands,
                                   MutableArrayRef<ReferenceTensor> results) {
  ReferenceTensor value = operands[0];
  for (const ResampleTable &table : getTables())
    value = resampleAlong(value, table);
  results[0] = std::move(value);
  if (results[0].isFloating())
    for (double &number : results[0].floats)
      number = roundTo(results[0].elementType, number);
  return success();
}
