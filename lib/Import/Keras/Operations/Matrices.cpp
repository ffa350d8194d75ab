// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products of vectors and matrices, diagonals, and what small matrices need: determinant, inverse,
// Cholesky's factor and solutions of linear systems, unrolled element by element.
#include "OperationBuilder.h"

namespace mpc::keras {
namespace {

using mlir::Value;
using B = OperationBuilder;

std::pair<Value, Value> getFloats(B &b, llvm::StringRef first, llvm::StringRef second) {
  Operand pair[2] = {b.getOperand(0, first), b.getOperand(1, second)};
  if (b.hasFailed() || !b.promote(pair))
    return {};
  auto floating = [&](Operand &o) { return o.isFloat() ? o.value : b.makeCastToFloat(o.value); };
  return {floating(pair[0]), floating(pair[1])};
}

/// All products of two elements, of tensors without a batch.
Value outer(B &b) {
  auto [x, y] = getFloats(b, "x1", "x2");
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
  auto [x, y] = getFloats(b, "x1", "x2");
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
  auto [x, y] = getFloats(b, "x1", "x2");
  if (!x)
    return {};
  const int64_t axis = b.rankOf(x) - 1;
  for (const char *name : {"axis", "axisa", "axisb", "axisc"}) {
    const int64_t written = b.getInteger(UINT_MAX, name).value_or(-1);
    if (written != -1 && written != axis)
      return b.error("'Cross' along another axis than the last is not supported; transpose");
  }
  if (axis < 0 || b.rankOf(y) != axis + 1 || b.shapeOf(x).back() != 3 || b.shapeOf(y).back() != 3)
    return b.error("'Cross' takes vectors of 3 elements along the last axis");
  if (failed(broadcastShapes({b.shapeOf(x), b.shapeOf(y)})))
    return b.error("the operands of 'Cross' have shapes that do not broadcast");
  auto rotated = [&](Value v, llvm::ArrayRef<int64_t> places) {
    return b.make<GatherOp>(v, b.makeIndices(3, places), axis, int64_t(0));
  };
  return b.make<SubtractOp>(b.make<MultiplyOp>(rotated(x, {1, 2, 0}), rotated(y, {2, 0, 1})),
                            b.make<MultiplyOp>(rotated(x, {2, 0, 1}), rotated(y, {1, 2, 0})));
}

/// |x|^2 + |y|^2 - 2 x y of all pairs would cancel: the differences themselves.
Value pairwiseDistance(B &b) {
  auto [x, y] = getFloats(b, "x", "y");
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
  const int64_t rank = b.rankOf(x), offset = b.getInteger(UINT_MAX, "offset").value_or(0);
  std::optional<int64_t> first = b.getAxis(UINT_MAX, "axis1", 0, rank),
                         second = b.getAxis(UINT_MAX, "axis2", 1, rank);
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
  return b.makeReduce(ReduceKind::Sum, diagonal, {b.rankOf(diagonal) - 1}, false);
}

// ---- Small matrices -----------------------------------------------------------------------------

/// Elements of square matrices in float32 or wider, each a tensor of the dimensions before.
struct Matrix {
  B &b;
  int64_t extent = 0;
  llvm::SmallVector<Value> elements; ///< row by row

  static constexpr int64_t kMost = 8;

  Value &at(int64_t row, int64_t column) { return elements[row * extent + column]; }
  static Value element(B &b, Value x, int64_t row, int64_t column) {
    const int64_t rank = b.rankOf(x);
    Value y = b.make<SliceOp>(b.make<SliceOp>(x, rank - 2, row, int64_t(1)), rank - 1, column,
                              int64_t(1));
    return b.makeReshape(y, b.shapeOf(x).drop_back(2));
  }
  static std::optional<Matrix> read(B &b, Value x) {
    const int64_t rank = b.rankOf(x), extent = rank < 3 ? 0 : b.shapeOf(x).back();
    if (extent < 1 || extent > kMost || b.shapeOf(x)[rank - 2] != extent) {
      b.error("'" + b.layer.className + "' is supported of a batch of square matrices of at most " +
              llvm::Twine(kMost) + " rows");
      return std::nullopt;
    }
    Value wide = b.makeCastLike(x, x, /*wide=*/true);
    Matrix m{b, extent, {}};
    for (int64_t row = 0; row < extent; ++row)
      for (int64_t column = 0; column < extent; ++column)
        m.elements.push_back(element(b, wide, row, column));
    return m;
  }
  /// Columns of `width` elements per row back as a tensor in the dtype of `like`.
  static Value join(B &b, llvm::ArrayRef<Value> parts, int64_t rows, int64_t width, Value like) {
    llvm::SmallVector<Value> whole;
    llvm::SmallVector<int64_t> shape(b.shapeOf(parts.front()));
    shape.push_back(1);
    for (Value part : parts)
      whole.push_back(b.makeReshape(part, shape));
    const int64_t axis = int64_t(shape.size()) - 1;
    Value y =
        whole.size() == 1 ? whole.front() : b.make<ConcatenateOp>(mlir::ValueRange(whole), axis);
    shape.back() = rows;
    shape.push_back(width);
    return b.makeCastLike(b.makeReshape(y, shape), like);
  }
};

Value fillLike(B &b, Value x, double number) {
  return b.make<BroadcastLikeOp>(b.makeCastLike(b.makeConstant(number), x), x);
}

/// Gauss's elimination; exchanges rows by selections, so that each pivot is the largest of its
/// column. `right` has `width` columns per row and becomes the solution. The diagonal keeps the
/// pivots; returns -1 for an odd number of exchanges, else 1.
Value eliminate(B &b, Matrix &m, llvm::SmallVectorImpl<Value> &right, int64_t width) {
  const int64_t n = m.extent;
  Value parity = fillLike(b, m.at(0, 0), 1.0);
  for (int64_t k = 0; k < n; ++k) {
    for (int64_t row = k + 1; row < n; ++row) {
      Value larger = b.makeCompare(ComparePredicate::GT, b.make<AbsOp>(m.at(row, k)),
                                   b.make<AbsOp>(m.at(k, k)));
      auto exchange = [&](Value &upper, Value &lower) {
        Value first = b.makeSelect(larger, lower, upper);
        lower = b.makeSelect(larger, upper, lower);
        upper = first;
      };
      for (int64_t column = k; column < n; ++column)
        exchange(m.at(k, column), m.at(row, column));
      for (int64_t column = 0; column < width; ++column)
        exchange(right[k * width + column], right[row * width + column]);
      parity = b.makeSelect(larger, b.make<NegateOp>(parity), parity);
    }
    for (int64_t row = width ? 0 : k + 1; row < n; ++row) {
      if (row == k)
        continue;
      // A column of zeros makes the determinant 0, not NaN.
      Value factor = b.make<DivideNoNanOp>(m.at(row, k), m.at(k, k));
      for (int64_t column = k + 1; column < n; ++column)
        m.at(row, column) =
            b.make<SubtractOp>(m.at(row, column), b.make<MultiplyOp>(factor, m.at(k, column)));
      for (int64_t column = 0; column < width; ++column)
        right[row * width + column] = b.make<SubtractOp>(
            right[row * width + column], b.make<MultiplyOp>(factor, right[k * width + column]));
    }
  }
  for (int64_t row = 0; row < n; ++row)
    for (int64_t column = 0; column < width; ++column)
      right[row * width + column] = b.make<DivideOp>(right[row * width + column], m.at(row, row));
  return parity;
}

Value determinant(B &b) {
  Value x = b.getFloat(0, "x");
  std::optional<Matrix> m = x ? Matrix::read(b, x) : std::nullopt;
  if (!m)
    return {};
  llvm::SmallVector<Value> none;
  Value product = eliminate(b, *m, none, 0);
  for (int64_t k = 0; k < m->extent; ++k)
    product = b.make<MultiplyOp>(product, m->at(k, k));
  return b.makeCastLike(product, x);
}

/// The determinant's sign and the logarithm of its size, which does not overflow.
Value signAndLogDeterminant(B &b) {
  Value x = b.getFloat(0, "x");
  std::optional<Matrix> m = x ? Matrix::read(b, x) : std::nullopt;
  if (!m)
    return {};
  llvm::SmallVector<Value> none;
  Value sign = eliminate(b, *m, none, 0), logarithm;
  for (int64_t k = 0; k < m->extent; ++k) {
    Value part = b.make<LogOp>(b.make<AbsOp>(m->at(k, k)));
    sign = b.make<MultiplyOp>(sign, b.make<SignOp>(m->at(k, k)));
    logarithm = logarithm ? b.make<AddOp>(logarithm, part) : part;
  }
  b.addResult(b.makeCastLike(logarithm, x));
  return b.makeCastLike(sign, x);
}

Value inverse(B &b) {
  Value x = b.getFloat(0, "x");
  std::optional<Matrix> m = x ? Matrix::read(b, x) : std::nullopt;
  if (!m)
    return {};
  llvm::SmallVector<Value> unit;
  Value like = m->at(0, 0);
  for (int64_t row = 0; row < m->extent; ++row)
    for (int64_t column = 0; column < m->extent; ++column)
      unit.push_back(fillLike(b, like, row == column));
  eliminate(b, *m, unit, m->extent);
  return Matrix::join(b, unit, m->extent, m->extent, x);
}

Value solve(B &b) {
  auto [a, y] = getFloats(b, "a", "b");
  std::optional<Matrix> m = a ? Matrix::read(b, a) : std::nullopt;
  if (!m)
    return {};
  const int64_t rank = b.rankOf(a);
  if (b.rankOf(y) != rank || b.shapeOf(y).drop_back() != b.shapeOf(a).drop_back() ||
      b.shapeOf(y).back() > 64)
    return b.error("'Solve' needs right sides [..., rows, columns] with at most 64 columns");
  const int64_t width = b.shapeOf(y).back();
  Value wide = b.makeCastLike(y, m->at(0, 0));
  llvm::SmallVector<Value> right;
  for (int64_t row = 0; row < m->extent; ++row)
    for (int64_t column = 0; column < width; ++column)
      right.push_back(Matrix::element(b, wide, row, column));
  eliminate(b, *m, right, width);
  return Matrix::join(b, right, m->extent, width, y);
}

/// The lower triangle L with m = L L^T; NaN of matrices that have none.
Matrix factorize(B &b, Matrix &m) {
  const int64_t n = m.extent;
  Matrix factor{b, n, llvm::SmallVector<Value>(n * n)};
  for (int64_t row = 0; row < n; ++row)
    for (int64_t column = 0; column < n; ++column) {
      Value sum = m.at(row, column);
      if (column > row) {
        factor.at(row, column) = fillLike(b, sum, 0.0);
        continue;
      }
      for (int64_t k = 0; k < column; ++k)
        sum = b.make<SubtractOp>(sum, b.make<MultiplyOp>(factor.at(row, k), factor.at(column, k)));
      factor.at(row, column) =
          row == column ? b.make<SqrtOp>(sum) : b.make<DivideOp>(sum, factor.at(column, column));
    }
  return factor;
}

/// The logarithm of the determinant of a symmetric positive definite matrix.
Value logDeterminant(B &b) {
  Value x = b.getFloat(0, "x");
  std::optional<Matrix> m = x ? Matrix::read(b, x) : std::nullopt;
  if (!m)
    return {};
  Matrix factor = factorize(b, *m);
  Value sum = b.make<LogOp>(factor.at(0, 0));
  for (int64_t k = 1; k < m->extent; ++k)
    sum = b.make<AddOp>(sum, b.make<LogOp>(factor.at(k, k)));
  return b.makeCastLike(b.make<MultiplyOp>(sum, b.makeConstant(2.0)), x);
}

Value cholesky(B &b) {
  Value x = b.getFloat(0, "x");
  std::optional<Matrix> m = x ? Matrix::read(b, x) : std::nullopt;
  if (!m)
    return {};
  Value y = Matrix::join(b, factorize(b, *m).elements, m->extent, m->extent, x);
  if (!b.getFlag(UINT_MAX, "upper", false))
    return y;
  llvm::SmallVector<int64_t> order = llvm::to_vector(llvm::seq<int64_t>(0, b.rankOf(x)));
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  return b.make<TransposeOp>(y, order);
}

constexpr OperationEntry kMatrixOperations[] = {
    {"CDist", pairwiseDistance},
    {"Cholesky", cholesky},
    {"Cross", cross},
    {"Det", determinant},
    {"Diagonal", diagonalOf},
    {"Inner", inner},
    {"Inv", inverse},
    {"Logdet", logDeterminant},
    {"Outer", outer},
    {"Slogdet", signAndLogDeterminant},
    {"Solve", solve},
    {"Trace", trace},
};

} // namespace

llvm::ArrayRef<OperationEntry> matrixOperations() { return kMatrixOperations; }

} // namespace mpc::keras
