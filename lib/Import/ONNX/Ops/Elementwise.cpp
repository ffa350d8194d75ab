// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Arithmetic and functions of single elements.
#include "lib/Import/Common/RealFunctions.h"
#include "lib/Import/ONNX/NodeBuilder.h"
#include "lib/Import/ONNX/OpTable.h"
#include "lib/Import/ONNX/Ops/Arithmetic.h"
#include "lib/Import/ONNX/Ops/Casts.h"

#include <cmath>

namespace mpc::onnx {

using mlir::Value;
using B = NodeBuilder;

// ---- Shared with other families -----------------------------------------------------------------

Value alignLegacy(B &b, Value x, Value y) {
  // Before opset 7 `axis` says where the second operand's dimensions lie in the first's.
  if (!y || b.opset >= 7 || !b.attributes.getFlag("broadcast") || !b.attributes.has("axis"))
    return y;
  const int64_t rank = b.rankOf(x);
  std::optional<int64_t> axis = b.resolveAxis(b.attributes.getInteger("axis", 0), rank);
  if (!axis)
    return {};
  llvm::SmallVector<int64_t> shape(b.shapeOf(y));
  if (*axis + int64_t(shape.size()) > rank)
    return b.error("the second operand's dimensions lie outside of the first's");
  shape.append(size_t(rank - *axis) - shape.size(), 1);
  return b.makeReshape(y, shape);
}

std::optional<std::pair<Value, Value>> getPair(B &b) {
  Value x = b.get(0), y = b.get(1);
  if (!x || !y)
    return std::nullopt;
  y = alignLegacy(b, x, y);
  if (!b.checkBroadcast({x, y}))
    return std::nullopt;
  if (elementTypeOf(x) != elementTypeOf(y)) {
    b.error("the operands have different types");
    return std::nullopt;
  }
  return std::make_pair(x, y);
}

Value divideTruncated(B &b, Value x, Value y) {
  Value quotient = b.make<IntegerOp>(IntegerKind::FloorDivide, x, y);
  const mlir::Type type = elementTypeOf(x);
  if (type.isUnsignedInteger())
    return quotient;
  Value zero = b.makeZero(type);
  Value rest = b.make<SubtractOp>(x, b.make<MultiplyOp>(quotient, y));
  Value differ = b.makeCompare(ComparePredicate::NE, b.makeCompare(ComparePredicate::LT, x, zero),
                               b.makeCompare(ComparePredicate::LT, y, zero));
  Value rounded = b.make<LogicalAndOp>(b.makeCompare(ComparePredicate::NE, rest, zero), differ);
  return b.makeSelect(rounded, b.make<AddOp>(quotient, b.makeScalar(type, 1)), quotient);
}

namespace {

// ---- Two operands -------------------------------------------------------------------------------

template <typename Op> void binary(B &b) {
  if (auto pair = getPair(b))
    b.setResult(0, b.make<Op>(pair->first, pair->second));
}

void divide(B &b) {
  auto pair = getPair(b);
  if (!pair)
    return;
  auto [x, y] = *pair;
  b.setResult(0, b.isFloat(x) ? b.make<DivideOp>(x, y) : divideTruncated(b, x, y));
}

/// With `fmod` the sign is the dividend's, as in C, else the divisor's, as in Python.
void modulo(B &b) {
  auto pair = getPair(b);
  if (!pair)
    return;
  auto [x, y] = *pair;
  const bool isC = b.attributes.getFlag("fmod");
  if (!b.isFloat(x)) {
    Value rest = isC ? b.make<SubtractOp>(x, b.make<MultiplyOp>(divideTruncated(b, x, y), y))
                     : b.make<IntegerOp>(IntegerKind::Modulo, x, y);
    return b.setResult(0, rest);
  }
  Value rest = b.make<RemainderOp>(x, y);
  if (isC)
    return b.setResult(0, rest);
  Value zero = b.makeConstant(0.0);
  Value differ =
      b.makeCompare(ComparePredicate::NE, b.makeCompare(ComparePredicate::LT, rest, zero),
                    b.makeCompare(ComparePredicate::LT, y, zero));
  Value more = b.make<LogicalAndOp>(b.makeCompare(ComparePredicate::NE, rest, zero), differ);
  b.setResult(0, b.makeSelect(more, b.make<AddOp>(rest, y), rest));
}

/// x^n by multiplication, exact where x is an integer.
Value raise(B &b, Value x, int64_t n) {
  Value result, square = x;
  for (; n > 0; n /= 2) {
    if (n % 2)
      result = result ? b.make<MultiplyOp>(result, square) : square;
    if (n > 1)
      square = b.make<MultiplyOp>(square, square);
  }
  return result;
}

/// In the type of the base.
void power(B &b) {
  Value x = b.get(0), y = b.get(1);
  if (!x || !y)
    return;
  y = alignLegacy(b, x, y);
  if (!b.checkBroadcast({x, y}))
    return;
  const DataType type = b.getType(0);
  if (const Literal *exponent = b.getLiteral(1); exponent && exponent->tensor.size() == 1) {
    const double n = exponent->tensor.at(0);
    const int64_t whole = int64_t(std::clamp(n, -64.0, 64.0));
    const bool broadcastsRank = int64_t(exponent->tensor.shape.size()) <= b.rankOf(x);
    if (double(whole) == n && broadcastsRank && (whole >= 1 && (!b.isFloat(x) || whole <= 3)))
      return b.setResult(0, raise(b, x, whole), type);
    if (n == 0.5 && broadcastsRank && b.isFloat(x))
      return b.setResult(0, b.make<SqrtOp>(x), type);
  }
  if (b.isFloat(x)) {
    if (!b.isFloat(y))
      y = b.makeCastToFloat(y);
    return b.setResult(0, b.make<PowerOp>(x, y), type);
  }
  b.setComputeType(DataType::Double);
  Value result = b.make<PowerOp>(b.makeCastToFloat(x), b.isFloat(y) ? y : b.makeCastToFloat(y));
  b.setResult(
      0, b.make<CastOp>(mlir::RankedTensorType::get(b.shapeOf(result), elementTypeOf(x)), result));
}

/// All inputs, from the left.
template <typename Op, bool isMean = false> void combine(B &b) {
  Value result;
  for (unsigned i = 0; i < b.getInputCount(); ++i) {
    Value x = b.get(i);
    if (!x || (result && !b.checkBroadcast({result, x})))
      return;
    if (result && elementTypeOf(result) != elementTypeOf(x))
      return (void)b.error("the operands have different types");
    result = result ? b.make<Op>(result, x) : x;
  }
  if (!result)
    return (void)b.error("has no operands");
  if (isMean && b.getInputCount() > 1)
    result = b.make<DivideOp>(result, b.makeConstant(double(b.getInputCount())));
  b.setResult(0, result);
}

// ---- One operand --------------------------------------------------------------------------------

template <typename Op> void unary(B &b) {
  if (Value x = b.get(0))
    b.setResult(0, b.isFloat(x) ? b.make<Op>(x) : b.error("takes floating tensors"));
}

template <Value apply(ValueBuilder &, Value)> void function(B &b) {
  if (Value x = b.get(0))
    b.setResult(0, b.isFloat(x) ? apply(b, x) : b.error("takes floating tensors"));
}

void absolute(B &b) {
  Value x = b.get(0);
  if (!x)
    return;
  const mlir::Type type = elementTypeOf(x);
  b.setResult(0, b.isFloat(x) ? b.make<AbsOp>(x)
                 : type.isUnsignedInteger()
                     ? x
                     : b.make<MaximumOp>(x, b.make<SubtractOp>(b.makeZero(type), x)));
}

void negate(B &b) {
  if (Value x = b.get(0))
    b.setResult(0, b.isFloat(x) ? b.make<NegateOp>(x)
                                : b.make<SubtractOp>(b.makeZero(elementTypeOf(x)), x));
}

void sign(B &b) {
  Value x = b.get(0);
  if (!x)
    return;
  if (b.isFloat(x))
    return b.setResult(0, b.make<SignOp>(x));
  const mlir::Type type = elementTypeOf(x);
  Value zero = b.makeZero(type), one = b.makeScalar(type, 1);
  Value above = b.makeSelect(ComparePredicate::GT, x, zero, one, zero);
  if (!type.isUnsignedInteger())
    above = b.makeSelect(ComparePredicate::LT, x, zero, b.makeScalar(type, -1), above);
  b.setResult(0, above);
}

Value applyCeil(ValueBuilder &b, Value x) {
  return b.make<NegateOp>(b.make<FloorOp>(b.make<NegateOp>(x)));
}
Value applyTangent(ValueBuilder &b, Value x) {
  return b.make<DivideOp>(b.make<SinOp>(x), b.make<CosOp>(x));
}
Value applyReciprocal(ValueBuilder &b, Value x) { return b.make<DivideOp>(b.makeConstant(1.0), x); }

/// The limits are attributes before opset 11, then inputs; NaN stays.
void clip(B &b) {
  Value x = b.get(0);
  if (!x)
    return;
  Value low, high;
  if (b.opset < 11) {
    if (b.attributes.has("min"))
      low = b.makeConstant(b.attributes.getNumber("min", 0.0));
    if (b.attributes.has("max"))
      high = b.makeConstant(b.attributes.getNumber("max", 0.0));
  } else {
    low = b.has(1) ? b.get(1) : Value();
    high = b.has(2) ? b.get(2) : Value();
  }
  for (Value limit : {low, high})
    if (limit && !b.checkBroadcast({x, limit}))
      return;
  if (low)
    x = b.make<MaximumOp>(x, low);
  if (high)
    x = b.make<MinimumOp>(x, high);
  b.setResult(0, x);
}

void cast(B &b) {
  Value x = b.get(0);
  if (!x)
    return;
  const auto to = DataType(b.attributes.getInteger("to", 0));
  if (const Literal *known = b.isVariable(0) ? nullptr : b.getLiteral(0);
      known && known->hasBatch && to != DataType::Int32 && to != DataType::Int64)
    return (void)b.errorOfOpenBatch("to " + spell(to) +
                                    " of what depends on the open batch is not supported");
  b.setResult(0, convert(b, x, b.getType(0), to, b.attributes.getFlag("saturate", true)), to);
}

/// As the second input, of which only the type matters.
void castLike(B &b) {
  Value x = b.get(0);
  if (!x || !b.has(1))
    return;
  const DataType to = b.getType(1);
  b.setResult(0, convert(b, x, b.getType(0), to, b.attributes.getFlag("saturate", true)), to);
}

/// Another type takes the bits over: integers of one width, among which truth values are bytes.
void bitCast(B &b) {
  Value x = b.get(0);
  if (!x)
    return;
  const DataType from = b.getType(0), to = DataType(b.attributes.getInteger("to", 0));
  const auto isTaken = [&](DataType type) {
    return llvm::isa_and_nonnull<mlir::IntegerType>(nominalType(b.builder, type)) &&
           elementBits(type) >= 8;
  };
  if (from != to && (!isTaken(from) || !isTaken(to) || to == DataType::Bool ||
                     elementBits(from) != elementBits(to)))
    return (void)b.error("from " + spell(from) + " to " + spell(to) +
                         " is not supported; expected integers of one width");
  b.setResult(0, from == to ? x : castTo(b, x, nominalType(b.builder, to)), to);
}

constexpr OpEntry kTable[] = {
    {"Abs", 1, absolute, nullptr, OpenBatch::anywhere},
    {"Acos", 7, function<applyArcCosine>, nullptr, OpenBatch::anywhere},
    {"Acosh", 9, function<applyInverseHyperbolicCosine>, nullptr, OpenBatch::anywhere},
    {"Add", 1, binary<AddOp>, nullptr, OpenBatch::anywhere},
    {"Asin", 7, function<applyArcSine>, nullptr, OpenBatch::anywhere},
    {"Asinh", 9, function<applyInverseHyperbolicSine>, nullptr, OpenBatch::anywhere},
    {"Atan", 7, function<applyArcTangent>, nullptr, OpenBatch::anywhere},
    {"Atanh", 9, function<applyInverseHyperbolicTangent>, nullptr, OpenBatch::anywhere},
    {"BitCast", 26, bitCast, nullptr, OpenBatch::anywhere},
    {"Cast", 6, cast, nullptr, OpenBatch::moved},
    {"CastLike", 15, castLike, nullptr, OpenBatch::anywhere},
    {"Ceil", 1, function<applyCeil>, nullptr, OpenBatch::anywhere},
    {"Clip", 1, clip, nullptr, OpenBatch::anywhere},
    {"Cos", 7, unary<CosOp>, nullptr, OpenBatch::anywhere},
    {"Cosh", 9, function<applyHyperbolicCosine>, nullptr, OpenBatch::anywhere},
    {"Div", 1, divide, nullptr, OpenBatch::anywhere},
    {"Erf", 9, unary<ErfOp>, nullptr, OpenBatch::anywhere},
    {"Exp", 1, unary<ExpOp>, nullptr, OpenBatch::anywhere},
    {"Floor", 1, unary<FloorOp>, nullptr, OpenBatch::anywhere},
    {"Log", 1, unary<LogOp>, nullptr, OpenBatch::anywhere},
    {"Max", 1, combine<MaximumOp>, nullptr, OpenBatch::anywhere},
    {"Mean", 1, combine<AddOp, true>, nullptr, OpenBatch::anywhere},
    {"Min", 1, combine<MinimumOp>, nullptr, OpenBatch::anywhere},
    {"Mod", 10, modulo, nullptr, OpenBatch::anywhere},
    {"Mul", 1, binary<MultiplyOp>, nullptr, OpenBatch::anywhere},
    {"Neg", 1, negate, nullptr, OpenBatch::anywhere},
    {"Pow", 1, power, nullptr, OpenBatch::anywhere},
    {"Reciprocal", 1, function<applyReciprocal>, nullptr, OpenBatch::anywhere},
    {"Round", 11, unary<RoundOp>, nullptr, OpenBatch::anywhere},
    {"Sign", 9, sign, nullptr, OpenBatch::anywhere},
    {"Sin", 7, unary<SinOp>, nullptr, OpenBatch::anywhere},
    {"Sinh", 9, function<applyHyperbolicSine>, nullptr, OpenBatch::anywhere},
    {"Sqrt", 1, unary<SqrtOp>, nullptr, OpenBatch::anywhere},
    {"Sub", 1, binary<SubtractOp>, nullptr, OpenBatch::anywhere},
    {"Sum", 1, combine<AddOp>, nullptr, OpenBatch::anywhere},
    {"Tan", 7, function<applyTangent>, nullptr, OpenBatch::anywhere},
};

} // namespace

llvm::ArrayRef<OpEntry> getElementwiseOps() { return kTable; }

} // namespace mpc::onnx
