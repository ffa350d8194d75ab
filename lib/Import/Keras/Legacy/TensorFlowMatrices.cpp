// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// TensorFlow's products and functions of matrices.
#include "lib/Import/Common/PositionMasks.h"
#include "lib/Import/Keras/Legacy/TensorFlowBuilder.h"

namespace mpc::keras {
namespace {

using mlir::Value;
using T = TensorFlowBuilder;

/// The last two dimensions exchanged.
Value exchange(T &b, Value x) {
  const int64_t rank = b.rankOf(x);
  if (rank < 2)
    return b.error("transposes a tensor of less than two dimensions");
  llvm::SmallVector<int64_t> order = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  std::swap(order[rank - 1], order[rank - 2]);
  return b.call("Transpose", {{"x", x}, {"axes", llvm::ArrayRef<int64_t>(order)}});
}

/// Two tensors of one dtype, of any shapes.
std::pair<Value, Value> factors(T &b, llvm::StringRef first, llvm::StringRef second) {
  Value x, y;
  if (const Argument *left = b.find(first); left && left->tensors().empty()) {
    y = b.getTensor(second);
    x = y ? b.getTensor(first, y) : Value();
  } else {
    x = b.getTensor(first);
    y = x ? b.getTensor(second, x) : Value();
  }
  return x && y ? std::pair(x, y) : std::pair<Value, Value>();
}

Value matmul(T &b) {
  auto [x, y] = factors(b, "a", "b");
  if (!x)
    return {};
  if (b.getFlag("a_is_sparse", false) || b.getFlag("b_is_sparse", false) || b.find("output_type"))
    return b.error("of sparse tensors, or with 'output_type', is not supported");
  if (b.rankOf(x) < 2 || b.rankOf(y) < 2)
    return b.error("takes matrices");
  if (b.getFlag("transpose_a", false) || b.getFlag("adjoint_a", false))
    x = exchange(b, x);
  if (y && (b.getFlag("transpose_b", false) || b.getFlag("adjoint_b", false)))
    y = exchange(b, y);
  return x && y ? b.call("Matmul", {{"x1", x}, {"x2", y}}) : Value();
}

Value matvec(T &b) {
  auto [x, y] = factors(b, "a", "b");
  if (!x)
    return {};
  if (b.getFlag("transpose_a", false) || b.getFlag("adjoint_a", false))
    x = exchange(b, x);
  if (!x || b.rankOf(y) < 1)
    return b.error("takes a matrix and a vector");
  llvm::SmallVector<int64_t> column(b.shapeOf(y));
  column.push_back(1);
  Value product = b.call("Matmul", {{"x1", x}, {"x2", b.makeReshape(y, column)}});
  return product ? b.makeReshape(product, b.shapeOf(product).drop_back()) : Value();
}

Value tensordot(T &b) {
  auto [x, y] = factors(b, "a", "b");
  const Argument *axes = b.find("axes");
  if (!x || !axes)
    return x ? b.error("argument 'axes' is missing") : Value();
  if (axes->kind == Argument::Kind::Constant)
    return b.call("Tensordot", {{"x1", x}, {"x2", y}, {"axes", axes->constant}});
  llvm::json::Array lists;
  for (const Argument &item : axes->items) {
    std::optional<SymbolicIntegers> known = b.toSymbolic(item);
    std::optional<llvm::SmallVector<int64_t>> list = known ? known->getConstants() : std::nullopt;
    if (!list)
      return b.error("'axes' must be known integers");
    lists.push_back(llvm::json::Array(*list));
  }
  return b.call("Tensordot", {{"x1", x}, {"x2", y}, {"axes", llvm::json::Value(std::move(lists))}});
}

/// Keras 2 writes the equation, and nothing of the tensors behind it.
Value einsum(T &b) {
  const std::string equation = b.getString("equation", "");
  llvm::SmallVector<Value> operands;
  if (b.find("inputs"))
    operands = b.getTensors("inputs");
  if (operands.empty())
    return b.hasFailed()
               ? Value()
               : b.error("has lost its operands: Keras 2 writes the equation alone into the file, "
                         "and cannot load it either; use tf.matmul or layers.EinsumDense and save "
                         "the model again");
  return b.makeEinsum(equation, operands);
}

Value transposeMatrix(T &b) {
  Value x = b.getTensor("a");
  return x ? exchange(b, x) : Value();
}

Value cross(T &b) {
  auto [x, y] = b.getPair("a", "b");
  return x ? b.call("Cross", {{"x1", x}, {"x2", y}}) : Value();
}

/// The main diagonal of the last two dimensions, or its sum.
Value diagonal(T &b) {
  Value x = b.getTensor("input");
  if (!x)
    return {};
  if (b.getInteger("k", 0) != 0)
    return b.error("of another diagonal than the main one is not supported");
  const int64_t rank = b.rankOf(x);
  if (rank < 2)
    return b.error("takes matrices");
  return b.call(b.function.operation,
                {{"x", x}, {"offset", 0}, {"axis1", rank - 2}, {"axis2", rank - 1}});
}

/// Vectors as diagonals: a product with the identity matrix.
Value diagonalMatrix(T &b) {
  Value x = b.getTensor("diagonal");
  if (!x)
    return {};
  if (b.getInteger("k", 0) != 0 || b.getNumber("padding_value", 0.0) != 0.0 ||
      b.getInteger("num_rows", -1) != -1 || b.getInteger("num_cols", -1) != -1)
    return b.error("of another diagonal than the main one is not supported");
  if (b.rankOf(x) < 1 || !mlir::isa<mlir::FloatType>(elementTypeOf(x)) ||
      b.shapeOf(x).back() > 8192)
    return b.error("takes floating vectors");
  const int64_t extent = b.shapeOf(x).back();
  llvm::SmallVector<int64_t> column(b.shapeOf(x));
  column.push_back(1);
  return b.makeSelect(makeDiagonalMask(b, extent, extent, ComparePredicate::EQ),
                      b.makeReshape(x, column), b.makeCastLike(b.makeConstant(0.0), x));
}

/// Keeps the elements within so many diagonals below and above the main one; negative numbers keep
/// all.
Value bandPart(T &b) {
  Value x = b.getTensor("input");
  std::optional<int64_t> lower = x ? b.getInteger("num_lower") : std::nullopt,
                         upper = lower ? b.getInteger("num_upper") : std::nullopt;
  if (!upper)
    return x && !b.hasFailed() ? b.error("needs known numbers of diagonals") : Value();
  if (*upper >= 0)
    x = b.call("Tril", {{"x", x}, {"k", *upper}});
  if (x && *lower >= 0)
    x = b.call("Triu", {{"x", x}, {"k", -*lower}});
  return x;
}

constexpr TensorFlowFunction kTensorFlowMatrices[] = {
    {"linalg.matmul|matmul",
     "a b transpose_a transpose_b adjoint_a adjoint_b a_is_sparse b_is_sparse output_type "
     "grad_a grad_b",
     matmul},
    {"linalg.matvec", "a b transpose_a adjoint_a a_is_sparse b_is_sparse", matvec},
    {"tensordot|linalg.tensordot", "a b axes", tensordot},
    {"einsum|linalg.einsum", "equation inputs optimize", einsum},
    {"linalg.matrix_transpose|linalg.adjoint", "a|matrix conjugate", transposeMatrix},
    {"linalg.cross", "a b", cross},
    {"linalg.diag_part", "input k padding_value align", diagonal, "Diagonal"},
    {"linalg.trace", "input|x", diagonal, "Trace"},
    {"linalg.diag", "diagonal k num_rows num_cols padding_value align", diagonalMatrix},
    {"linalg.band_part", "input num_lower num_upper", bandPart},
    {"linalg.inv", "input adjoint", tensorFlowUnary, "Inv"},
    {"linalg.det", "input", tensorFlowUnary, "Det"},
    {"linalg.cholesky", "input", tensorFlowUnary, "Cholesky"},
};

} // namespace

llvm::ArrayRef<TensorFlowFunction> tensorFlowMatrices() { return kTensorFlowMatrices; }

} // namespace mpc::keras
