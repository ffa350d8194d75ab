// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Gather and its derivative scatter_add: shapes, verifiers, derivatives, reference values.
#include "dialects/mpc/IR/Mpc.h"

#include <cmath>

using namespace mlir;
using namespace mpc;

/// Shape of a gather's result; what is wrong with the operands otherwise.
static FailureOr<SmallVector<int64_t>> gatheredShape(std::optional<Location> location,
                                                     ArrayRef<int64_t> table,
                                                     ArrayRef<int64_t> indices, int64_t axis,
                                                     int64_t batch) {
  int64_t rank = table.size(), indexRank = indices.size();
  if (axis < 0 || axis >= rank)
    return emitOptionalError(location, "axis ", axis, " is out of range for rank ", rank);
  if (ShapedType::isDynamic(table[axis]))
    return emitOptionalError(location, "the axis must not be the batch");
  if (batch < 0 || batch > axis || batch > indexRank)
    return emitOptionalError(location, "batch_dims must be dimensions before the axis, of the "
                                       "indices too");
  if (table.take_front(batch) != indices.take_front(batch))
    return emitOptionalError(location, "table and indices differ in the batch_dims");
  SmallVector<int64_t> shape(table.take_front(axis));
  llvm::append_range(shape, indices.drop_front(batch));
  llvm::append_range(shape, table.drop_front(axis + 1));
  if (llvm::count_if(shape, ShapedType::isDynamic) > 1)
    return emitOptionalError(location, "the batch would be in the result twice");
  return shape;
}

LogicalResult GatherOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                         ValueRange operands, DictionaryAttr attributes,
                                         OpaqueProperties properties, RegionRange regions,
                                         SmallVectorImpl<Type> &types) {
  Adaptor adaptor(operands, attributes, properties, regions);
  auto table = tensorTypeOf(adaptor.getTable());
  auto shape =
      gatheredShape(location, table.getShape(), tensorTypeOf(adaptor.getIndices()).getShape(),
                    adaptor.getAxis(), adaptor.getBatchDims());
  if (failed(shape))
    return failure();
  types.push_back(RankedTensorType::get(*shape, table.getElementType()));
  return success();
}

LogicalResult GatherOp::verify() {
  if (elementTypeOf(getIndices()).isInteger(1))
    return emitOpError() << "indices must be integers, got i1";
  return success();
}

LogicalResult ScatterAddOp::inferReturnTypes(MLIRContext *, std::optional<Location>,
                                             ValueRange operands, DictionaryAttr attributes,
                                             OpaqueProperties properties, RegionRange regions,
                                             SmallVectorImpl<Type> &types) {
  Adaptor adaptor(operands, attributes, properties, regions);
  types.push_back(RankedTensorType::get(tensorTypeOf(adaptor.getLike()).getShape(),
                                        elementTypeOf(adaptor.getUpdates())));
  return success();
}

LogicalResult ScatterAddOp::verify() {
  auto shape = gatheredShape(getLoc(), tensorTypeOf(getLike()).getShape(),
                             tensorTypeOf(getIndices()).getShape(), getAxis(), getBatchDims());
  if (failed(shape))
    return failure();
  if (ArrayRef<int64_t>(*shape) != tensorTypeOf(getUpdates()).getShape())
    return emitOpError() << "updates must have the shape of what the indices gather, [" << *shape
                         << "]";
  if (elementTypeOf(getIndices()).isInteger(1))
    return emitOpError() << "indices must be integers, got i1";
  return success();
}

PrecisionClass ScatterAddOp::getPrecisionClass() { return PrecisionClass::Keep32; }

LogicalResult GatherOp::buildVjp(OpBuilder &builder, ValueRange cotangents, ArrayRef<bool> wanted,
                                 MutableArrayRef<Value> operandCotangents) {
  if (wanted[0])
    operandCotangents[0] = ScatterAddOp::create(builder, getLoc(), getIndices(), cotangents[0],
                                                getTable(), getAxis(), getBatchDims());
  return success();
}

LogicalResult ScatterAddOp::buildVjp(OpBuilder &builder, ValueRange cotangents,
                                     ArrayRef<bool> wanted,
                                     MutableArrayRef<Value> operandCotangents) {
  if (!wanted[1])
    return success();
  Location loc = getLoc();
  Value gathered =
      GatherOp::create(builder, loc, cotangents[0], getIndices(), getAxis(), getBatchDims());
  // An update that was dropped has no derivative; a gather would say NaN there.
  auto type = cast<IntegerType>(elementTypeOf(getIndices()));
  const int64_t extent = tensorTypeOf(getLike()).getDimSize(getAxis());
  Value isInside;
  auto require = [&](ComparePredicate predicate, int64_t bound) {
    const unsigned valueBits = type.getWidth() - (type.isUnsigned() ? 0 : 1);
    if (valueBits < 63 && std::abs(bound) >> valueBits)
      return; // every index of this type fulfils it
    Value limit = ConstantOp::create(
        builder, loc,
        cast<ElementsAttr>(DenseElementsAttr::get(
            RankedTensorType::get({}, type),
            llvm::APInt(type.getWidth(), uint64_t(bound), /*isSigned=*/true, true))));
    Value holds = CompareOp::create(builder, loc, predicate, getIndices(), limit);
    isInside = isInside ? Value(LogicalAndOp::create(builder, loc, isInside, holds)) : holds;
  };
  require(ComparePredicate::LT, extent);
  if (!type.isUnsigned())
    require(ComparePredicate::GE, -extent);
  if (isInside) {
    ArrayRef<int64_t> indices = tensorTypeOf(getIndices()).getShape();
    SmallVector<int64_t> shape(indices.take_front(getBatchDims()));
    shape.append(getAxis() - getBatchDims(), 1);
    llvm::append_range(shape, indices.drop_front(getBatchDims()));
    shape.append(tensorTypeOf(gathered).getRank() - shape.size(), 1);
    isInside = ReshapeOp::create(builder, loc, tensorTypeOf(isInside).clone(shape), isInside);
    gathered = SelectOp::create(builder, loc, isInside, gathered,
                                scalarConstant(builder, loc, elementTypeOf(gathered), 0));
  }
  operandCotangents[1] = gathered;
  return success();
}

/// Calls `visit(index in the table, index in the gathered tensor)` for each gathered element in
/// row-major order; the first is -1 for an index outside.
static void forEachGathered(ArrayRef<int64_t> table, const ReferenceTensor &indices, int64_t axis,
                            int64_t batch, llvm::function_ref<void(int64_t, int64_t)> visit) {
  auto product = [](ArrayRef<int64_t> extents) {
    int64_t result = 1;
    for (int64_t extent : extents)
      result *= extent;
    return result;
  };
  int64_t extent = table[axis];
  int64_t batches = product(table.take_front(batch)),
          outer = product(table.slice(batch, axis - batch));
  int64_t inner = product(table.drop_front(axis + 1));
  int64_t count = product(ArrayRef(indices.shape).drop_front(batch));
  int64_t next = 0;
  for (int64_t b = 0; b < batches; ++b)
    for (int64_t o = 0; o < outer; ++o)
      for (int64_t i = 0; i < count; ++i) {
        int64_t index = indices.integers[b * count + i];
        index = index < 0 ? index + extent : index;
        bool inside = index >= 0 && index < extent;
        for (int64_t r = 0; r < inner; ++r)
          visit(inside ? ((b * outer + o) * extent + index) * inner + r : -1, next++);
      }
}

LogicalResult GatherOp::evaluate(ArrayRef<ReferenceTensor> operands,
                                 MutableArrayRef<ReferenceTensor> results) {
  const ReferenceTensor &table = operands[0], &indices = operands[1];
  auto shape = gatheredShape(getLoc(), table.shape, indices.shape, getAxis(), getBatchDims());
  if (failed(shape))
    return failure();
  startReference(results[0], table.elementType, *shape);
  forEachGathered(table.shape, indices, getAxis(), getBatchDims(), [&](int64_t from, int64_t to) {
    if (table.isFloating())
      results[0].floats[to] = from < 0 ? NAN : table.floats[from];
    else
      results[0].integers[to] = from < 0 ? 0 : table.integers[from];
  });
  return success();
}

LogicalResult ScatterAddOp::evaluate(ArrayRef<ReferenceTensor> operands,
                                     MutableArrayRef<ReferenceTensor> results) {
  const ReferenceTensor &indices = operands[0], &updates = operands[1], &like = operands[2];
  startReference(results[0], updates.elementType, like.shape);
  SmallVector<double, 0> sums(like.size(), 0.0);
  forEachGathered(like.shape, indices, getAxis(), getBatchDims(), [&](int64_t to, int64_t from) {
    if (to >= 0)
      sums[to] += updates.floats[from];
  });
  for (auto [i, sum] : llvm::enumerate(sums))
    results[0].set(i, sum);
  return success();
}
