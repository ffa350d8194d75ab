// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reductions and argmax.
#include "dialects/mpc/IR/Mpc.h"

#include <cmath>

using namespace mlir;
using namespace mpc;

SmallVector<int64_t> mpc::reducedShape(ArrayRef<int64_t> shape, ArrayRef<int64_t> axes,
                                       bool keepDims) {
  SmallVector<int64_t> result;
  for (auto [d, extent] : llvm::enumerate(shape))
    if (!llvm::is_contained(axes, int64_t(d)))
      result.push_back(extent);
    else if (keepDims)
      result.push_back(1);
  return result;
}

FailureOr<RankedTensorType> mpc::inferReducedType(std::optional<Location> location,
                                                  RankedTensorType input, ArrayRef<int64_t> axes,
                                                  bool keepDims) {
  for (int64_t axis : axes)
    if (axis < 0 || axis >= input.getRank())
      return emitOptionalError(location, "axis ", axis, " is out of range for rank ",
                               input.getRank());
  return RankedTensorType::get(reducedShape(input.getShape(), axes, keepDims),
                               input.getElementType());
}

LogicalResult ReduceOp::inferReturnTypes(MLIRContext *context, std::optional<Location> location,
                                         ValueRange operands, DictionaryAttr attributes,
                                         OpaqueProperties properties, RegionRange regions,
                                         SmallVectorImpl<Type> &types) {
  Adaptor adaptor(operands, attributes, properties, regions);
  auto type = inferReducedType(location, tensorTypeOf(adaptor.getInput()), adaptor.getAxes(),
                               adaptor.getKeepDims());
  if (failed(type))
    return failure();
  types.push_back(*type);
  return success();
}

LogicalResult mpc::verifyDistinct(Operation *op, ArrayRef<int64_t> dims, StringRef what) {
  llvm::SmallDenseSet<int64_t> seen;
  for (int64_t dim : dims)
    if (!seen.insert(dim).second)
      return op->emitOpError() << what << " " << dim << " is given twice";
  return success();
}

LogicalResult ReduceOp::verify() {
  if (failed(verifyDistinct(*this, getAxes(), "axis")))
    return failure();
  bool logical = getKind() == ReduceKind::All || getKind() == ReduceKind::Any;
  Type element = elementTypeOf(getInput());
  if (logical != element.isInteger(1))
    return emitOpError() << "all and any reduce i1, the other kinds floating tensors";
  if (getKind() == ReduceKind::Mean && !isa<FloatType>(element))
    return emitOpError() << "mean reduces floating tensors; cast integers first";
  return success();
}

PrecisionClass ReduceOp::getPrecisionClass() { return PrecisionClass::Keep32; }

LogicalResult ArgMaxOp::inferReturnTypes(MLIRContext *context, std::optional<Location> location,
                                         ValueRange operands, DictionaryAttr attributes,
                                         OpaqueProperties properties, RegionRange regions,
                                         SmallVectorImpl<Type> &types) {
  Adaptor adaptor(operands, attributes, properties, regions);
  auto input = tensorTypeOf(adaptor.getInput());
  int64_t axis = adaptor.getAxis();
  if (axis < 0 || axis >= input.getRank())
    return emitOptionalError(location, "axis ", axis, " is out of range for rank ",
                             input.getRank());
  SmallVector<int64_t> shape(input.getShape());
  shape.erase(shape.begin() + axis);
  types.push_back(RankedTensorType::get(shape, IntegerType::get(context, 32)));
  return success();
}

/// `value`, reduced over `axes`, with these axes back as extents of 1.
static Value keepAxes(OpBuilder &builder, Location loc, Value value, RankedTensorType input,
                      ArrayRef<int64_t> axes) {
  SmallVector<int64_t> shape(input.getShape());
  for (int64_t axis : axes)
    shape[axis] = 1;
  auto type = RankedTensorType::get(shape, elementTypeOf(value));
  return value.getType() == type ? value : Value(ReshapeOp::create(builder, loc, type, value));
}

/// A dynamic extent is counted by summing ones along one element of each other dimension.
Value mpc::countElements(OpBuilder &builder, Location loc, Value input, ArrayRef<int64_t> axes) {
  auto type = tensorTypeOf(input);
  Type element = widerOf32(type.getElementType());
  double fixed = 1;
  bool dynamic = false;
  for (int64_t axis : axes)
    if (type.isDynamicDim(axis))
      dynamic = true;
    else
      fixed *= double(type.getDimSize(axis));
  Value count = scalarConstant(builder, loc, element, fixed);
  if (!dynamic)
    return count;
  Value line = input;
  for (int64_t d = 0; d < type.getRank(); ++d)
    if (!type.isDynamicDim(d) && type.getDimSize(d) != 1)
      line = SliceOp::create(builder, loc, line, d, /*offset=*/0, /*size=*/1);
  Value one = scalarConstant(builder, loc, element, 1);
  Value ones = BroadcastLikeOp::create(builder, loc, one, line);
  SmallVector<int64_t> all = llvm::to_vector(llvm::seq<int64_t>(0, type.getRank()));
  Value batch = ReduceOp::create(builder, loc, ReduceKind::Sum, ones, all, /*keep_dims=*/false);
  return MultiplyOp::create(builder, loc, batch, count);
}

LogicalResult ReduceOp::buildVjp(OpBuilder &builder, ValueRange cotangents, ArrayRef<bool>,
                                 MutableArrayRef<Value> operandCotangents) {
  Location loc = getLoc();
  Value dy = cotangents[0], x = getInput();
  auto type = tensorTypeOf(x);
  switch (getKind()) {
  case ReduceKind::Mean: {
    // Divided in float32: a count above 65504 would be infinite in float16.
    auto narrow = tensorTypeOf(dy);
    auto wide = narrow.clone(widerOf32(narrow.getElementType()));
    if (narrow != wide)
      dy = CastOp::create(builder, loc, wide, dy);
    dy = DivideOp::create(builder, loc, dy, countElements(builder, loc, x, getAxes()));
    if (narrow != wide)
      dy = CastOp::create(builder, loc, narrow, dy);
    [[fallthrough]];
  }
  case ReduceKind::Sum:
    operandCotangents[0] =
        BroadcastLikeOp::create(builder, loc, keepAxes(builder, loc, dy, type, getAxes()), x);
    return success();
  case ReduceKind::Max:
  case ReduceKind::Min: {
    // tensorflow/python/ops/math_grad.py _MinOrMaxGrad: indicators / number of ties * dy.
    Value y = keepAxes(builder, loc, getResult(), type, getAxes());
    Value isExtreme = CompareOp::create(builder, loc, ComparePredicate::EQ, x, y);
    Value indicators = CastOp::create(builder, loc, type, isExtreme);
    Value ties =
        ReduceOp::create(builder, loc, ReduceKind::Sum, indicators, getAxes(), /*keep_dims=*/true);
    Value share = DivideOp::create(builder, loc, indicators, ties);
    operandCotangents[0] =
        MultiplyOp::create(builder, loc, share, keepAxes(builder, loc, dy, type, getAxes()));
    return success();
  }
  case ReduceKind::All:
  case ReduceKind::Any:
    return success();
  }
  llvm_unreachable("enumerated");
}

std::pair<SmallVector<int64_t, 0>, SmallVector<int64_t, 0>>
mpc::splitOffsets(ArrayRef<int64_t> shape, ArrayRef<int64_t> axes) {
  SmallVector<int64_t> strides = rowMajorStrides(shape), extents[2], chosen[2];
  for (size_t d = 0; d < shape.size(); ++d) {
    bool reduced = llvm::is_contained(axes, int64_t(d));
    extents[reduced].push_back(shape[d]);
    chosen[reduced].push_back(strides[d]);
  }
  return {stridedOffsets(extents[0], chosen[0]), stridedOffsets(extents[1], chosen[1])};
}

static double startOf(ReduceKind kind) {
  switch (kind) {
  case ReduceKind::Max:
    return -INFINITY;
  case ReduceKind::Min:
    return INFINITY;
  case ReduceKind::All:
    return 1;
  default:
    return 0;
  }
}

static double combine(ReduceKind kind, double total, double x) {
  switch (kind) {
  case ReduceKind::Sum:
  case ReduceKind::Mean:
    return total + x;
  case ReduceKind::Max:
    return std::isnan(total) || total > x ? total : x;
  case ReduceKind::Min:
    return std::isnan(total) || total < x ? total : x;
  case ReduceKind::All:
    return total != 0 && x != 0;
  case ReduceKind::Any:
    return total != 0 || x != 0;
  }
  llvm_unreachable("enumerated");
}

static llvm::APSInt combine(ReduceKind kind, const llvm::APSInt &total, const llvm::APSInt &x) {
  switch (kind) {
  case ReduceKind::Sum:
    return total + x;
  case ReduceKind::Max:
    return total < x ? x : total;
  case ReduceKind::Min:
    return x < total ? x : total;
  default:
    llvm_unreachable("not of integers");
  }
}

LogicalResult ReduceOp::evaluate(ArrayRef<ReferenceTensor> operands,
                                 MutableArrayRef<ReferenceTensor> results) {
  const ReferenceTensor &input = operands[0];
  ReferenceTensor &result = results[0];
  startReference(result, input.elementType, reducedShape(input.shape, getAxes(), getKeepDims()));
  auto [kept, reduced] = splitOffsets(input.shape, getAxes());
  if (!input.isFloating() && !input.elementType.isInteger(1)) {
    // The largest and smallest of no integers have no infinity to be, and stay 0.
    for (auto [i, start] : llvm::enumerate(kept)) {
      for (auto [k, offset] : llvm::enumerate(reduced)) {
        llvm::APSInt x = input.integerAt(start + offset);
        result.set(i, k == 0 ? x : combine(getKind(), result.integerAt(i), x));
      }
    }
    return success();
  }
  for (auto [i, start] : llvm::enumerate(kept)) {
    double total = startOf(getKind());
    for (int64_t offset : reduced)
      total = combine(getKind(), total, input.at(start + offset));
    result.set(i, getKind() == ReduceKind::Mean ? total / double(reduced.size()) : total);
  }
  return success();
}

LogicalResult ArgMaxOp::evaluate(ArrayRef<ReferenceTensor> operands,
                                 MutableArrayRef<ReferenceTensor> results) {
  const ReferenceTensor &input = operands[0];
  SmallVector<int64_t> shape(input.shape);
  shape.erase(shape.begin() + getAxis());
  startReference(results[0], elementTypeOf(getResult()), shape);
  auto [kept, along] = splitOffsets(input.shape, {int64_t(getAxis())});
  for (auto [i, start] : llvm::enumerate(kept)) {
    // NaN counts as the largest, as in NumPy.
    int64_t best = 0;
    for (int64_t k = 1; k < int64_t(along.size()); ++k) {
      const double x = input.floats[start + along[k]], top = input.floats[start + along[best]];
      if (!std::isnan(top) && (std::isnan(x) || x > top))
        best = k;
    }
    results[0].integers[i] = best;
  }
  return success();
}
