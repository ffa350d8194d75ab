// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products of matrices and sums of products, in float32 or wider inside.
#include "lib/Import/Common/Shape.h"
#include "lib/Import/ONNX/NodeBuilder.h"
#include "lib/Import/ONNX/OpTable.h"
#include "lib/Import/ONNX/Ops/Broadcasts.h"
#include "lib/Import/ONNX/Ops/Products.h"

namespace mpc::onnx {

using mlir::Value;
using B = NodeBuilder;
using Extents = llvm::SmallVector<int64_t>;

/// Integers by elementwise products: no contraction has them. Their sums wrap around.
static Value multiplyIntegers(B &b, Value x, Value y) {
  Extents left(b.shapeOf(x)), right(b.shapeOf(y));
  const size_t rank = left.size();
  left.push_back(1); // [..., m, k, 1] times [..., 1, k, n]
  right.insert(right.end() - 2, 1);
  Value products = b.make<MultiplyOp>(b.makeReshape(x, left), b.makeReshape(y, right));
  return b.makeReduce(ReduceKind::Sum, products, {int64_t(rank) - 1}, /*keepDims=*/false);
}

Value multiplyMatrices(B &b, Value x, Value y) {
  const bool isVectorLeft = b.rankOf(x) == 1, isVectorRight = b.rankOf(y) == 1;
  if (b.rankOf(x) == 0 || b.rankOf(y) == 0 || elementTypeOf(x) != elementTypeOf(y))
    return b.error("takes matrices or vectors of one type");
  const int64_t inner = b.shapeOf(x).back(),
                other = b.shapeOf(y)[isVectorRight ? 0 : size_t(b.rankOf(y)) - 2];
  if (inner != other || mlir::ShapedType::isDynamic(inner))
    return b.error("the shapes " + printShape(b.shapeOf(x)) + " and " + printShape(b.shapeOf(y)) +
                   " do not fit");
  const bool isFloat = b.isFloat(x);
  // A matrix on the right is shared by all on the left: one contraction.
  if (isFloat && b.rankOf(y) <= 2)
    return b.make<ContractOp>(x, y, Extents{b.rankOf(x) - 1}, Extents{0});
  if (isVectorLeft)
    x = b.makeReshape(x, {1, inner});
  if (isVectorRight)
    y = b.makeReshape(y, {inner, 1});
  const size_t leading = size_t(std::max(b.rankOf(x), b.rankOf(y))) - 2;
  auto shared = broadcastShapes({b.shapeOf(x).drop_back(2), b.shapeOf(y).drop_back(2)});
  if (failed(shared))
    return b.error("the shapes " + printShape(b.shapeOf(x)) + " and " + printShape(b.shapeOf(y)) +
                   " do not broadcast");
  auto withLeading = [&](Value value) -> Value {
    Extents shape(*shared);
    llvm::append_range(shape, b.shapeOf(value).take_back(2));
    return broadcastTo(b, value, shape);
  };
  Extents result(*shared);
  result.append({b.shapeOf(x)[size_t(b.rankOf(x)) - 2], b.shapeOf(y).back()});
  Value product;
  if (!isFloat) {
    x = withLeading(x), y = withLeading(y);
    if (!x || !y)
      return {};
    product = multiplyIntegers(b, x, y);
  } else {
    x = withLeading(x), y = withLeading(y);
    if (!x || !y)
      return {};
    const Extents batch = llvm::to_vector(llvm::seq<int64_t>(0, int64_t(leading)));
    product = b.make<ContractOp>(x, y, batch, batch, Extents{int64_t(leading) + 1},
                                 Extents{int64_t(leading)});
  }
  if (isVectorLeft)
    result.erase(result.end() - 2);
  if (isVectorRight)
    result.pop_back();
  return b.makeReshape(product, result);
}

namespace {

void matMul(B &b) {
  Value x = b.get(0), y = b.get(1);
  if (x && y)
    b.setResult(0, multiplyMatrices(b, x, y));
}

Value scale(B &b, Value x, double factor) {
  return factor == 1.0 ? x : b.make<MultiplyOp>(x, b.makeConstant(factor));
}

/// alpha A B + beta C
void gemm(B &b) {
  b.attributes.ignore("broadcast"); // until opset 6: C broadcasts where its shape asks for it
  Value x = b.get(0), y = b.get(1);
  if (!x || !y)
    return;
  if (b.rankOf(x) != 2 || b.rankOf(y) != 2 || elementTypeOf(x) != elementTypeOf(y))
    return (void)b.error("takes matrices of one type");
  const int64_t left = b.attributes.getFlag("transA") ? 0 : 1,
                right = b.attributes.getFlag("transB") ? 1 : 0;
  if (b.shapeOf(x)[left] != b.shapeOf(y)[right] || mlir::ShapedType::isDynamic(b.shapeOf(x)[left]))
    return (void)b.error("the shapes " + printShape(b.shapeOf(x)) + " and " +
                         printShape(b.shapeOf(y)) + " do not fit");
  const double alpha = b.attributes.getNumber("alpha", 1.0),
               beta = b.attributes.getNumber("beta", 1.0);
  Value product;
  if (b.isFloat(x)) {
    product = scale(b, b.make<ContractOp>(x, y, Extents{left}, Extents{right}), alpha);
  } else {
    if (alpha != 1.0 || beta != 1.0)
      return (void)b.error("factors of integers are not supported");
    const Extents turn{1, 0};
    product = multiplyIntegers(b, left == 0 ? b.make<TransposeOp>(x, turn) : x,
                               right == 1 ? b.make<TransposeOp>(y, turn) : y);
  }
  if (b.has(2) && beta != 0.0) {
    Value addend = b.get(2);
    if (!addend || !b.checkBroadcast({product, addend}))
      return;
    product = b.make<AddOp>(product, scale(b, addend, beta));
  }
  b.setResult(0, product);
}

void einsum(B &b) {
  llvm::SmallVector<Value> operands;
  for (unsigned i = 0; i < b.getInputCount(); ++i)
    if (Value operand = b.get(i))
      operands.push_back(operand);
    else
      return;
  std::string equation = b.attributes.getText("equation").str();
  llvm::erase(equation, ' ');
  if (operands.empty() || !b.isFloat(operands.front()))
    return (void)b.error("of integers is not supported; cast them first");
  b.setResult(0, b.makeEinsum(equation, operands));
}

/// The minor of the last columns.size() rows and these columns, by expansion along its first row.
Value determinant(B &b, llvm::ArrayRef<llvm::SmallVector<Value>> elements,
                  llvm::ArrayRef<size_t> columns) {
  const auto &row = elements[elements.size() - columns.size()];
  if (columns.size() == 1)
    return row[columns.front()];
  Value sum;
  for (const auto &[i, column] : llvm::enumerate(columns)) {
    llvm::SmallVector<size_t> rest(columns);
    rest.erase(rest.begin() + ptrdiff_t(i));
    Value term = b.make<MultiplyOp>(row[column], determinant(b, elements, rest));
    sum = !sum ? term : i % 2 ? b.make<SubtractOp>(sum, term) : b.make<AddOp>(sum, term);
  }
  return sum;
}

void det(B &b) {
  constexpr int64_t most = 4; // of which the expansion has 40 products
  Value x = b.get(0);
  if (!x)
    return;
  const int64_t rank = b.rankOf(x), extent = rank < 2 ? 0 : b.shapeOf(x).back();
  if (!b.isFloat(x) || extent < 1 || extent > most || b.shapeOf(x)[size_t(rank) - 2] != extent)
    return (void)b.error("takes square matrices of at most " + llvm::Twine(most) +
                         " rows; the shape is " + printShape(b.shapeOf(x)));
  Value wide = b.makeCastLike(x, x, /*wide=*/true);
  llvm::SmallVector<llvm::SmallVector<Value>> elements;
  for (int64_t i = 0; i < extent; ++i) {
    Value row = b.make<SliceOp>(wide, rank - 2, i, int64_t(1));
    auto &own = elements.emplace_back();
    for (int64_t j = 0; j < extent; ++j)
      own.push_back(
          b.makeReshape(b.make<SliceOp>(row, rank - 1, j, int64_t(1)), b.shapeOf(x).drop_back(2)));
  }
  const auto columns = llvm::to_vector(llvm::seq<size_t>(0, size_t(extent)));
  b.setResult(0, b.makeCastLike(determinant(b, elements, columns), x), b.getType(0));
}

constexpr OpEntry kTable[] = {
    {"Det", 11, det},
    {"Einsum", 12, einsum},
    {"Gemm", 1, gemm, nullptr, OpenBatch::anywhere},
    {"MatMul", 1, matMul, nullptr, OpenBatch::anywhere},
};

} // namespace

llvm::ArrayRef<OpEntry> getContractionOps() { return kTable; }

} // namespace mpc::onnx
