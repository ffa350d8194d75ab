// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products of vectors and matrices, distances and diagonals.
#include "lib/Import/Keras/Operations/OperationBuilder.h"

namespace mpc::keras {
namespace {

using mlir::Value;
using B = OperationBuilder;

/// All products of two elements, of tensors without a batch.
Value outer(B &b) {
  auto [x, y] = b.getFloats("x1", "x2");
  if (!x)
    return {};
  if (tensorTypeOf(x).getNumDynamicDims() || tensorTypeOf(y).getNumDynamicDims())
    return b.error("'Outer' flattens the batch; use einsum or multiply");
  auto count = [&](Value v) {
    int64_t elements = 1;
    for (int64_t extent : b.shapeOf(v))
      elements *= extent;
    return elements;
  };
  return b.make<MultiplyOp>(b.makeReshape(x, {count(x), 1}), b.makeReshape(y, {1, count(y)}));
}

/// Sums over the last axes of both.
Value inner(B &b) {
  auto [x, y] = b.getFloats("x1", "x2");
  if (!x)
    return {};
  if (b.rankOf(x) == 0 || b.rankOf(y) == 0)
    return b.make<MultiplyOp>(x, y);
  if (tensorTypeOf(x).getNumDynamicDims() && tensorTypeOf(y).getNumDynamicDims())
    return b.error("'Inner' of two tensors with a batch pairs every sample with every other, which "
                   "is not supported; use einsum");
  if (b.shapeOf(x).back() != b.shapeOf(y).back())
    return b.error("'Inner' of tensors with other last extents");
  return b.make<ContractOp>(x, y, llvm::ArrayRef<int64_t>{b.rankOf(x) - 1},
                            llvm::ArrayRef<int64_t>{b.rankOf(y) - 1});
}

/// The cross product of vectors of 3 elements along the last axis.
Value cross(B &b) {
  auto [left, right] = b.getPair();
  Value x = left.value, y = right.value;
  if (!x || !y)
    return {};
  if (elementTypeOf(x).isInteger(1))
    return b.error("'Cross' of truth values is not supported; cast them to a number's type");
  const int64_t axis = b.rankOf(x) - 1;
  for (const char *name : {"axis", "axisa", "axisb", "axisc"}) {
    const int64_t written = b.getInteger(kKeywordOnly, name).value_or(-1);
    if (written != -1 && written != axis)
      return b.error("'Cross' along another axis than the last is not supported; transpose");
  }
  if (axis < 0 || b.rankOf(y) != axis + 1 || b.shapeOf(x).back() != 3 || b.shapeOf(y).back() != 3)
    return b.error("'Cross' takes vectors of 3 elements along the last axis");
  auto rotated = [&](Value v, llvm::ArrayRef<int64_t> places) {
    return b.make<GatherOp>(v, b.makeIndices(3, places), axis, int64_t(0));
  };
  return b.make<SubtractOp>(b.make<MultiplyOp>(rotated(x, {1, 2, 0}), rotated(y, {2, 0, 1})),
                            b.make<MultiplyOp>(rotated(x, {2, 0, 1}), rotated(y, {1, 2, 0})));
}

/// |x|^2 + |y|^2 - 2 x y of all pairs would cancel: the differences themselves.
Value pairwiseDistance(B &b) {
  auto [x, y] = b.getFloats("x", "y");
  if (!x)
    return {};
  const int64_t rank = b.rankOf(x);
  if (rank < 3 || b.rankOf(y) != rank || b.shapeOf(x).back() != b.shapeOf(y).back())
    return b.error("'CDist' takes batches of vectors [..., places, features] of equal length");
  llvm::SmallVector<int64_t> xShape(b.shapeOf(x)), yShape(b.shapeOf(y));
  xShape.insert(xShape.end() - 1, 1);
  yShape.insert(yShape.end() - 2, 1);
  Value d = b.make<SubtractOp>(b.makeReshape(x, xShape), b.makeReshape(y, yShape));
  return b.make<SqrtOp>(b.makeReduce(ReduceKind::Sum, b.make<MultiplyOp>(d, d), {rank}, false));
}

// ---- Diagonals ----------------------------------------------------------------------------------

/// Elements (i, i + offset) of two axes, as a new last axis.
Value diagonalOf(B &b) {
  Value x = b.getValue(0, "x");
  if (!x)
    return {};
  const int64_t rank = b.rankOf(x), offset = b.getInteger(kKeywordOnly, "offset").value_or(0);
  std::optional<int64_t> first = b.getAxis(b.getInteger(kKeywordOnly, "axis1").value_or(0), rank),
                         second = b.getAxis(b.getInteger(kKeywordOnly, "axis2").value_or(1), rank);
  if (!first || !second)
    return {};
  if (*first == *second)
    return b.error("'" + b.layer.className + "' needs two axes");
  const int64_t rows = b.shapeOf(x)[*first], columns = b.shapeOf(x)[*second];
  const int64_t row = std::max<int64_t>(-offset, 0), column = std::max<int64_t>(offset, 0);
  const int64_t count = std::min(rows - row, columns - column);
  if (count < 1)
    return b.error("'" + b.layer.className + "' with an offset outside of the matrix");
  llvm::SmallVector<int64_t> order, shape, places;
  for (int64_t d = 0; d < rank; ++d)
    if (d != *first && d != *second) {
      order.push_back(d);
      shape.push_back(b.shapeOf(x)[d]);
    }
  order.append({*first, *second});
  shape.push_back(rows * columns);
  for (int64_t i = 0; i < count; ++i)
    places.push_back((row + i) * columns + column + i);
  x = b.makeReshape(b.make<TransposeOp>(x, order), shape);
  return b.make<GatherOp>(x, b.makeIndices(count, places), rank - 2, int64_t(0));
}

Value trace(B &b) {
  Value diagonal = diagonalOf(b);
  if (!diagonal || elementTypeOf(diagonal).isInteger(1))
    return diagonal ? b.error("'Trace' of truth values is not supported") : diagonal;
  return b.makeReduce(ReduceKind::Sum, widenForSum(b, diagonal), {b.rankOf(diagonal) - 1}, false);
}

constexpr OperationEntry kMatrixOperations[] = {
    {"CDist", pairwiseDistance},
    {"Cross", cross},
    {"Diagonal", diagonalOf},
    {"Inner", inner},
    {"Outer", outer},
    {"Trace", trace},
};

} // namespace

llvm::ArrayRef<OperationEntry> matrixOperations() { return kMatrixOperations; }

} // namespace mpc::keras
