// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Operations that are contractions: matmul, einsum, dot, tensordot, attention.
#include "lib/Import/Keras/Operations/OperationBuilder.h"

#include "lib/Import/Common/DotProductAttention.h"

#include <cmath>

namespace mpc::keras {
namespace {

using mlir::Value;
using B = OperationBuilder;

/// Both operands as floating tensors; null values after an error.
std::pair<Value, Value> getFactors(B &b) {
  Operand pair[2] = {b.getOperand(0, "x1"), b.getOperand(1, "x2")};
  if (b.hasFailed() || !b.promote(pair))
    return {};
  if (!pair[0].isFloat()) {
    b.error("'" + b.layer.className + "' of integers is not supported; cast them first");
    return {};
  }
  return {pair[0].value, pair[1].value};
}

/// numpy.matmul: the last two dimensions are matrices, those before broadcast.
Value multiplyMatrices(B &b, Value x, Value y) {
  const int64_t xRank = b.rankOf(x), yRank = b.rankOf(y);
  if (xRank == 0 || yRank == 0)
    return b.error("'" + b.layer.className + "' of a scalar; use multiply");
  const int64_t xBatch = std::max<int64_t>(xRank - 2, 0), yBatch = std::max<int64_t>(yRank - 2, 0);
  const int64_t batch = std::max(xBatch, yBatch);
  if (batch > 20)
    return b.error("'" + b.layer.className + "' of tensors of too many dimensions");
  std::string xLabels, yLabels, result;
  llvm::SmallVector<int64_t> xShape, yShape;
  for (int64_t d = 0; d < batch; ++d) {
    const char label = char('a' + d);
    const int64_t xd = d - (batch - xBatch), yd = d - (batch - yBatch);
    const int64_t xExtent = xd < 0 ? 1 : b.shapeOf(x)[xd], yExtent = yd < 0 ? 1 : b.shapeOf(y)[yd];
    if (xExtent != yExtent && xExtent != 1 && yExtent != 1)
      return b.error("'" + b.layer.className + "' of shapes that do not broadcast");
    // An extent of 1 that repeats has no label: the other's stays free.
    if (xd >= 0 && (xExtent != 1 || yExtent == 1)) {
      xLabels += label;
      xShape.push_back(xExtent);
    }
    if (yd >= 0 && (yExtent != 1 || xExtent == 1)) {
      yLabels += label;
      yShape.push_back(yExtent);
    }
    result += label;
  }
  if (xRank > 1) {
    xLabels += 'x';
    xShape.push_back(b.shapeOf(x)[xRank - 2]);
    result += 'x';
  }
  xLabels += 'z';
  xShape.push_back(b.shapeOf(x).back());
  yLabels += 'z';
  yShape.push_back(b.shapeOf(y)[yRank > 1 ? yRank - 2 : 0]);
  if (yRank > 1) {
    yLabels += 'y';
    yShape.push_back(b.shapeOf(y).back());
    result += 'y';
  }
  return b.makeEinsum(xLabels + "," + yLabels + "->" + result,
                      {b.makeReshape(x, xShape), b.makeReshape(y, yShape)});
}

Value matmul(B &b) {
  auto [x, y] = getFactors(b);
  return x ? multiplyMatrices(b, x, y) : Value();
}

/// numpy.dot: a scalar multiplies; the second operand may be a vector or a matrix.
Value dot(B &b) {
  auto [x, y] = getFactors(b);
  if (!x)
    return {};
  if (b.rankOf(x) == 0 || b.rankOf(y) == 0)
    return b.make<MultiplyOp>(x, y);
  if (b.rankOf(y) > 2)
    return b.error("'Dot' with a second tensor of more than 2 dimensions is not supported; use "
                   "einsum");
  return multiplyMatrices(b, x, y);
}

Value einsum(B &b) {
  llvm::SmallVector<Operand> operands;
  for (unsigned position = 0; b.findArgument(position, "operands") && position < 16; ++position) {
    const Argument *argument = b.findArgument(position, "operands");
    if (argument->kind == Argument::Kind::List && position == 0)
      llvm::append_range(operands, b.getOperands(0, "operands"));
    else
      operands.push_back(b.getOperand(position, "operands"));
    if (b.hasFailed())
      return {};
    if (argument->kind == Argument::Kind::List)
      break;
  }
  const std::string equation = b.getString(kKeywordOnly, "subscripts", "");
  if (operands.empty())
    return b.error("'Einsum' without operands");
  if (llvm::none_of(operands, [](const Operand &operand) { return operand.isFloat(); }))
    return b.error("'Einsum' of integers is not supported; cast them first");
  if (!b.promote(operands))
    return {};
  llvm::SmallVector<Value> values;
  for (const Operand &operand : operands)
    values.push_back(operand.value);
  return b.makeEinsum(equation, values);
}

Value tensordot(B &b) {
  auto [x, y] = getFactors(b);
  if (!x)
    return {};
  const int64_t xRank = b.rankOf(x), yRank = b.rankOf(y);
  llvm::SmallVector<int64_t> xAxes, yAxes;
  const Argument *axes = b.findArgument(2, "axes");
  auto read = [&](const Argument &argument, int64_t rank, llvm::SmallVector<int64_t> &into) {
    llvm::ArrayRef<Argument> items = argument.kind == Argument::Kind::List
                                         ? llvm::ArrayRef(argument.items)
                                         : llvm::ArrayRef(argument);
    for (const Argument &item : items) {
      std::optional<int64_t> axis =
          item.kind == Argument::Kind::Constant ? item.constant.getAsInteger() : std::nullopt;
      if (!axis || *axis < -rank || *axis >= rank)
        return false;
      into.push_back(*axis < 0 ? *axis + rank : *axis);
    }
    return true;
  };
  bool valid = true;
  if (axes && axes->kind == Argument::Kind::List) {
    valid = axes->items.size() == 2 && read(axes->items[0], xRank, xAxes) &&
            read(axes->items[1], yRank, yAxes);
  } else {
    const int64_t count = b.getInteger(2, "axes").value_or(2);
    valid = count >= 0 && count <= std::min(xRank, yRank);
    for (int64_t d = 0; valid && d < count; ++d) {
      xAxes.push_back(xRank - count + d);
      yAxes.push_back(d);
    }
  }
  if (!valid || xAxes.size() != yAxes.size() || xRank + yRank > 40)
    return b.error("'axes' of 'Tensordot' are not those of the tensors");
  std::string xLabels, yLabels, result;
  for (int64_t d = 0; d < xRank; ++d) {
    xLabels += char('A' + d);
    if (!llvm::is_contained(xAxes, d))
      result += xLabels.back();
  }
  for (int64_t d = 0; d < yRank; ++d) {
    auto shared = llvm::find(yAxes, d);
    yLabels += shared == yAxes.end() ? char('a' + d) : xLabels[xAxes[shared - yAxes.begin()]];
    if (shared == yAxes.end())
      result += yLabels.back();
  }
  if (llvm::count_if(llvm::concat<const int64_t>(b.shapeOf(x), b.shapeOf(y)),
                     mlir::ShapedType::isDynamic) > 1)
    return b.error("'Tensordot' of two tensors with a batch pairs every sample with every other, "
                   "which is not supported; use einsum");
  return b.makeEinsum(xLabels + "," + yLabels + "->" + result, {x, y});
}

Value dotProductAttention(B &b) {
  DotProductAttention attention;
  attention.query = b.getFloat(0, "query");
  attention.key = b.getFloat(1, "key");
  attention.value = b.getFloat(2, "value");
  if (b.hasFailed())
    return {};
  if (b.findArgument(3, "bias"))
    attention.bias = b.getFloat(3, "bias");
  if (b.findArgument(4, "mask")) {
    Value mask = b.getValue(4, "mask");
    attention.mask = mask ? b.makeBool(mask) : mask;
  }
  if (b.findArgument(9, "attn_logits_soft_cap"))
    return b.error("'attn_logits_soft_cap' is not supported");
  const double width = double(b.shapeOf(attention.key).back());
  attention.scale = b.getNumber(5, "scale").value_or(1.0 / std::sqrt(width));
  attention.causal = b.getFlag(6, "is_causal", false);
  return b.hasFailed() ? Value() : attention.build(b);
}

/// x / max(|x|, epsilon) along an axis.
Value normalize(B &b) {
  Value x = b.getFloat(0, "x");
  std::optional<llvm::SmallVector<int64_t>> axes =
      x ? b.getAxes(1, "axis", x, /*acrossSamples=*/true) : std::nullopt;
  if (!axes)
    return {};
  if (b.getInteger(2, "order").value_or(2) != 2)
    return b.error("'Normalize' with another order than 2 is not supported");
  return b.makeUnitNorm(x, *axes, b.getNumber(3, "epsilon").value_or(1e-7));
}

constexpr OperationEntry kProductOperations[] = {
    {"Dot", dot},
    {"DotProductAttention", dotProductAttention},
    {"Einsum", einsum},
    {"Matmul", matmul},
    {"Normalize", normalize},
    {"Tensordot", tensordot},
};

} // namespace

llvm::ArrayRef<OperationEntry> productOperations() { return kProductOperations; }

} // namespace mpc::keras
