// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Each row compares its number with all indices, so that the result is the same for every number of
// threads and for every type; sums of floats are one op.
#include "lib/Import/ONNX/Ops/Scatter.h"

#include "lib/Import/Common/Shape.h"

namespace mpc::onnx {

using mlir::Value;
using Extents = llvm::SmallVector<int64_t>;

/// Comparisons and combined elements of one sample at most.
static constexpr int64_t kMost = int64_t(1) << 26;
/// Products are written out.
static constexpr int64_t kMostFactors = 512;

Value countFromFront(NodeBuilder &b, Value indices, int64_t extent) {
  const mlir::Type type = elementTypeOf(indices);
  return b.makeSelect(ComparePredicate::LT, indices, b.makeZero(type),
                      b.make<AddOp>(indices, b.makeInteger(type, extent)), indices);
}

namespace {

struct Rows {
  Value table;   ///< [b…, n, r…]
  Value hits;    ///< i1 [b…, n, m]
  Value updates; ///< [b…, m, r…]
  int64_t axis;  ///< of n and m
};

Value replace(NodeBuilder &b, const Rows &rows, int64_t count) {
  const mlir::Type i32 = b.builder.getI32Type();
  const auto numbers = llvm::to_vector(llvm::seq<int64_t>(0, count));
  Value none = b.makeInteger(i32, -1);
  Value last =
      b.makeReduce(ReduceKind::Max, b.makeSelect(rows.hits, b.makeIndices({count}, numbers), none),
                   {rows.axis + 1}, /*keepDims=*/false);
  Value isHit = b.makeCompare(ComparePredicate::GE, last, b.makeZero(i32));
  Value taken = b.make<GatherOp>(rows.updates, b.make<MaximumOp>(last, b.makeZero(i32)), rows.axis,
                                 rows.axis);
  Extents column(b.shapeOf(isHit));
  column.resize(size_t(b.rankOf(rows.table)), 1);
  return b.makeSelect(b.makeReshape(isHit, column), taken, rows.table);
}

/// Table and updates with the hits as dimensions [b…, n, m, r…]; where there is no hit,
/// `otherwise`.
Value spread(NodeBuilder &b, const Rows &rows, Value otherwise) {
  Extents hits(b.shapeOf(rows.hits)), updates(b.shapeOf(rows.updates));
  hits.append(size_t(b.rankOf(rows.table) - rows.axis - 1), 1);
  updates.insert(updates.begin() + rows.axis, 1);
  return b.makeSelect(b.makeReshape(rows.hits, hits), b.makeReshape(rows.updates, updates),
                      otherwise);
}

template <typename Op> Value reduceBy(NodeBuilder &b, const Rows &rows, ReduceKind kind) {
  Extents shape(b.shapeOf(rows.table));
  shape.insert(shape.begin() + rows.axis + 1, 1);
  Value all = spread(b, rows, b.makeReshape(rows.table, shape));
  return b.make<Op>(rows.table, b.makeReduce(kind, all, {rows.axis + 1}, /*keepDims=*/false));
}

Value multiply(NodeBuilder &b, const Rows &rows, int64_t count) {
  if (count > kMostFactors)
    return b.error("products of more than " + llvm::Twine(kMostFactors) +
                   " updates are not supported");
  const mlir::Type type = elementTypeOf(rows.table);
  Value factors = spread(b, rows, b.makeScalar(type, 1));
  Value result = rows.table;
  for (int64_t i = 0; i < count; ++i) {
    Value factor = b.make<SliceOp>(factors, rows.axis + 1, i, int64_t(1));
    result = b.make<MultiplyOp>(result, b.makeReshape(factor, b.shapeOf(rows.table)));
  }
  return result;
}

} // namespace

Value scatterRows(NodeBuilder &b, Value table, Value indices, Value updates,
                  llvm::StringRef reduction) {
  const int64_t axis = b.rankOf(indices) - 1;
  const int64_t extent = b.shapeOf(table)[size_t(axis)], count = b.shapeOf(indices).back();
  if (mlir::ShapedType::isDynamic(extent) || mlir::ShapedType::isDynamic(count))
    return b.errorOfOpenBatch("scatters along the open batch");
  if (b.isFloat(table) && reduction == "add")
    return b.make<AddOp>(table, b.make<ScatterAddOp>(indices, updates, table, axis, axis));
  int64_t work = extent * count;
  if (reduction != "none")
    for (int64_t rest : b.shapeOf(table).drop_front(size_t(axis) + 1))
      work = work > kMost ? work : work * rest;
  if (work > kMost)
    return b.error("scatters " + llvm::Twine(count) + " updates into " + llvm::Twine(extent) +
                   " rows; supported are " + llvm::Twine(kMost) + " pairs of them");
  Extents row(b.shapeOf(indices));
  row.insert(row.end() - 1, 1);
  const auto numbers = llvm::to_vector(llvm::seq<int64_t>(0, extent));
  Value places = b.makeIndices({extent, 1}, numbers);
  const mlir::Type type = elementTypeOf(indices);
  if (!type.isInteger(32))
    places = b.make<CastOp>(mlir::RankedTensorType::get({extent, 1}, type), places);
  const Rows rows = {table,
                     b.makeCompare(ComparePredicate::EQ, b.makeReshape(indices, row), places),
                     updates, axis};
  const bool isBool = elementTypeOf(table).isInteger(1);
  if (reduction == "none")
    return replace(b, rows, count);
  if (reduction == "add" && !isBool)
    return b.make<AddOp>(table, b.makeReduce(ReduceKind::Sum,
                                             spread(b, rows, b.makeZero(elementTypeOf(table))),
                                             {axis + 1}, /*keepDims=*/false));
  if (reduction == "mul" && !isBool)
    return multiply(b, rows, count);
  if (reduction == "max" && !isBool)
    return reduceBy<MaximumOp>(b, rows, ReduceKind::Max);
  if (reduction == "min" && !isBool)
    return reduceBy<MinimumOp>(b, rows, ReduceKind::Min);
  return b.error("the reduction '" + reduction + "' is not supported" +
                 (isBool ? " for truth values" : "; expected none, add, mul, max or min"));
}

} // namespace mpc::onnx
