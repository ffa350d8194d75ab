// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Small matrices, unrolled element by element: determinant, inverse, factors, solutions of linear
// systems.
#include "lib/Import/Keras/Operations/OperationBuilder.h"

namespace mpc::keras {
namespace {

using mlir::Value;
using B = OperationBuilder;

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
  /// Null elements, to be written.
  static Matrix empty(B &b, int64_t extent) {
    return {b, extent, llvm::SmallVector<Value>(size_t(extent * extent))};
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
  auto [a, y] = b.getFloats("a", "b");
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
  Matrix factor = Matrix::empty(b, n);
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
  if (!b.getFlag(kKeywordOnly, "upper", false))
    return y;
  llvm::SmallVector<int64_t> order = llvm::to_vector(llvm::seq<int64_t>(0, b.rankOf(x)));
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  return b.make<TransposeOp>(y, order);
}

// ---- Triangles ----------------------------------------------------------------------------------

/// Solves for `width` columns in their place, by substitution; reads one triangle of the matrix.
void substitute(B &b, Matrix &m, llvm::MutableArrayRef<Value> right, int64_t width, bool lower) {
  const int64_t n = m.extent;
  for (int64_t step = 0; step < n; ++step) {
    const int64_t row = lower ? step : n - 1 - step;
    for (int64_t column = 0; column < width; ++column) {
      Value sum = right[row * width + column];
      for (int64_t before = 0; before < step; ++before) {
        const int64_t k = lower ? before : n - 1 - before;
        sum = b.make<SubtractOp>(sum, b.make<MultiplyOp>(m.at(row, k), right[k * width + column]));
      }
      right[row * width + column] = b.make<DivideOp>(sum, m.at(row, row));
    }
  }
}

Value solveTriangular(B &b) {
  auto [a, y] = b.getFloats("a", "b");
  std::optional<Matrix> m = a ? Matrix::read(b, a) : std::nullopt;
  if (!m)
    return {};
  const bool isVector = b.rankOf(y) == b.rankOf(a) - 1;
  llvm::SmallVector<int64_t> shape(b.shapeOf(y));
  Value columns = y;
  if (isVector) {
    shape.push_back(1);
    columns = b.makeReshape(y, shape);
  }
  if (int64_t(shape.size()) != b.rankOf(a) ||
      llvm::ArrayRef(shape).drop_back() != b.shapeOf(a).drop_back() || shape.back() < 1 ||
      shape.back() > 64)
    return b.error(
        "'SolveTriangular' needs right sides [..., rows] or [..., rows, columns] with at "
        "most 64 columns");
  Value wide = b.makeCastLike(columns, m->at(0, 0));
  llvm::SmallVector<Value> right;
  for (int64_t row = 0; row < m->extent; ++row)
    for (int64_t column = 0; column < shape.back(); ++column)
      right.push_back(Matrix::element(b, wide, row, column));
  substitute(b, *m, right, shape.back(), b.getFlag(kKeywordOnly, "lower", false));
  return b.makeReshape(Matrix::join(b, right, m->extent, shape.back(), y), b.shapeOf(y));
}

/// The inverse of L L^T, or of U^T U, from the inverse of the factor; as TensorFlow's backend of
/// Keras, which multiplies it with its transpose on the other side for U.
Value invertFromFactor(B &b) {
  Value x = b.getFloat(0, "x");
  std::optional<Matrix> m = x ? Matrix::read(b, x) : std::nullopt;
  if (!m)
    return {};
  const bool upper = b.getFlag(kKeywordOnly, "upper", false);
  const int64_t n = m->extent;
  Matrix inverse = Matrix::empty(b, n), product = Matrix::empty(b, n);
  for (int64_t row = 0; row < n; ++row)
    for (int64_t column = 0; column < n; ++column)
      inverse.at(row, column) = fillLike(b, m->at(0, 0), row == column);
  substitute(b, *m, inverse.elements, n, !upper);
  for (int64_t row = 0; row < n; ++row)
    for (int64_t column = 0; column <= row; ++column) {
      // Beyond the triangle are zeros.
      Value sum;
      for (int64_t k = row; k < n; ++k) {
        Value part = upper ? b.make<MultiplyOp>(inverse.at(row, k), inverse.at(column, k))
                           : b.make<MultiplyOp>(inverse.at(k, row), inverse.at(k, column));
        sum = sum ? b.make<AddOp>(sum, part) : part;
      }
      product.at(row, column) = product.at(column, row) = sum;
    }
  return Matrix::join(b, product.elements, n, n, x);
}

// ---- Reflections --------------------------------------------------------------------------------

/// Householder's reflections, with the signs of Eigen (Householder.h, makeHouseholder), which
/// TensorFlow takes: x = q r.
Value factorOrthogonally(B &b) {
  Value x = b.getFloat(0, "x");
  if (!x)
    return {};
  const int64_t rank = b.rankOf(x), rows = rank < 3 ? 0 : b.shapeOf(x)[rank - 2],
                columns = rank < 3 ? 0 : b.shapeOf(x)[rank - 1];
  const std::string mode = b.getString(kKeywordOnly, "mode", "reduced");
  if (mode != "reduced" && mode != "complete")
    return b.error("'mode' of 'Qr' is '" + mode + "'; expected reduced or complete");
  if (rows < 1 || columns < 1 || rows > Matrix::kMost || columns > Matrix::kMost)
    return b.error("'Qr' is supported of a batch of matrices of at most " +
                   llvm::Twine(Matrix::kMost) + " rows and columns");
  const int64_t steps = std::min(rows, columns), kept = mode == "reduced" ? steps : rows;
  Value wide = b.makeCastLike(x, x, /*wide=*/true);
  llvm::SmallVector<Value> r, q;
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < columns; ++column)
      r.push_back(Matrix::element(b, wide, row, column));
  Value zero = fillLike(b, r.front(), 0.0), one = fillLike(b, r.front(), 1.0);
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < kept; ++column)
      q.push_back(row == column ? one : zero);
  // I - tau v v^T, v = (1, essential).
  struct Reflection {
    llvm::SmallVector<Value> v;
    Value tau;
  };
  auto apply = [&](const Reflection &reflection, llvm::MutableArrayRef<Value> m, int64_t width,
                   int64_t first, int64_t column) {
    Value sum;
    for (const auto &[i, v] : llvm::enumerate(reflection.v)) {
      Value part = b.make<MultiplyOp>(v, m[(first + int64_t(i)) * width + column]);
      sum = sum ? b.make<AddOp>(sum, part) : part;
    }
    sum = b.make<MultiplyOp>(sum, reflection.tau);
    for (const auto &[i, v] : llvm::enumerate(reflection.v)) {
      Value &element = m[(first + int64_t(i)) * width + column];
      element = b.make<SubtractOp>(element, b.make<MultiplyOp>(v, sum));
    }
  };
  llvm::SmallVector<Reflection> reflections;
  for (int64_t k = 0; k < std::min(steps, rows - 1); ++k) {
    Value head = r[k * columns + k], tail;
    for (int64_t row = k + 1; row < rows; ++row) {
      Value square = b.make<MultiplyOp>(r[row * columns + k], r[row * columns + k]);
      tail = tail ? b.make<AddOp>(tail, square) : square;
    }
    // Nothing below the diagonal: nothing to reflect, and no root to differentiate.
    Value isDone = b.makeCompare(ComparePredicate::EQ, tail, b.makeConstant(0.0));
    Value size = b.make<SqrtOp>(
        b.makeSelect(isDone, one, b.make<AddOp>(b.make<MultiplyOp>(head, head), tail)));
    Value positive = b.makeCompare(ComparePredicate::GE, head, b.makeConstant(0.0));
    Value diagonal = b.makeSelect(positive, b.make<NegateOp>(size), size);
    Value divisor = b.makeSelect(isDone, one, b.make<SubtractOp>(head, diagonal));
    Reflection reflection;
    reflection.v.push_back(one);
    for (int64_t row = k + 1; row < rows; ++row)
      reflection.v.push_back(b.make<DivideOp>(r[row * columns + k], divisor));
    reflection.tau =
        b.makeSelect(isDone, zero, b.make<DivideOp>(b.make<SubtractOp>(diagonal, head), diagonal));
    for (int64_t column = k + 1; column < columns; ++column)
      apply(reflection, r, columns, k, column);
    r[k * columns + k] = b.makeSelect(isDone, head, diagonal);
    for (int64_t row = k + 1; row < rows; ++row)
      r[row * columns + k] = zero;
    reflections.push_back(reflection);
  }
  for (int64_t k = int64_t(reflections.size()) - 1; k >= 0; --k)
    for (int64_t column = k; column < kept; ++column)
      apply(reflections[k], q, kept, k, column);
  b.addResult(Matrix::join(b, llvm::ArrayRef(r).take_front(kept * columns), kept, columns, x));
  return Matrix::join(b, q, rows, kept, x);
}

constexpr OperationEntry kSmallMatrixOperations[] = {
    {"Cholesky", cholesky},
    {"CholeskyInverse", invertFromFactor},
    {"Det", determinant},
    {"Inv", inverse},
    {"Logdet", logDeterminant},
    {"Qr", factorOrthogonally},
    {"Slogdet", signAndLogDeterminant},
    {"Solve", solve},
    {"SolveTriangular", solveTriangular},
};

} // namespace

llvm::ArrayRef<OperationEntry> smallMatrixOperations() { return kSmallMatrixOperations; }

} // namespace mpc::keras
