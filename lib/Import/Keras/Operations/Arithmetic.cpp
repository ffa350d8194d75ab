// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Elementwise operations: arithmetic, comparisons, logic, functions of one tensor.
#include "lib/Import/Keras/Operations/OperationBuilder.h"

#include "lib/Import/Keras/Dtype.h"

#include <cmath>

namespace mpc::keras {
namespace {

using mlir::Value;
using B = OperationBuilder;

template <typename Op> Value binary(B &b) {
  auto [x, y] = b.getPair();
  if (!x)
    return {};
  if (elementTypeOf(x.value).isInteger(1))
    return b.error("'" + b.layer.className + "' of truth values is not supported; cast them first");
  return b.make<Op>(x.value, y.value);
}

template <typename Op> Value floatBinary(B &b) {
  auto [x, y] = b.getFloatPair();
  return x ? b.make<Op>(x, y) : Value();
}

/// Bits of integers. A Python number is a tensor of int32 here, as in Keras's backend; but shifts
/// by a number have the dtype of what is shifted.
template <IntegerKind kind> Value bits(B &b) {
  Operand operands[2] = {b.getOperand(0, "x"), b.getOperand(1, "y")};
  if (kind != IntegerKind::ShiftLeft && kind != IntegerKind::ShiftRight)
    for (Operand &operand : operands)
      operand.weak = false;
  if (b.hasFailed() || !b.promote(operands))
    return {};
  auto [x, y] = operands;
  if (x.isFloat() || elementTypeOf(x.value).isInteger(1))
    return b.error("'" + b.layer.className + "' takes integers");
  if (failed(broadcastShapes({b.shapeOf(x.value), b.shapeOf(y.value)})))
    return b.error("the operands of '" + b.layer.className + "' have shapes that do not broadcast");
  return b.make<IntegerOp>(kind, x.value, y.value);
}

/// All bits turned over.
Value invert(B &b) {
  Operand x = b.getOperand(0, "x");
  if (!x)
    return {};
  if (x.isFloat() || elementTypeOf(x.value).isInteger(1))
    return b.error("'" + b.layer.className + "' takes integers");
  return b.make<IntegerOp>(IntegerKind::Xor, x.value, b.makeScalar(elementTypeOf(x.value), -1));
}

/// Whole powers by multiplication: without a logarithm, exact, and defined for negative numbers and
/// for integers.
Value power(B &b) {
  std::optional<double> exponent;
  if (const llvm::json::Value *literal = b.getLiteral(1, "x2"))
    exponent = literal->getAsNumber();
  auto [x, y] = b.getPair();
  if (!x)
    return {};
  if (exponent == 2.0)
    return b.make<MultiplyOp>(x.value, x.value);
  if (exponent == 1.0)
    return x.value;
  if (x.isFloat())
    return b.make<PowerOp>(x.value, y.value);
  if (!exponent || *exponent < 0 || *exponent > 64 || *exponent != std::floor(*exponent))
    return b.error(
        "'Power' of integers is supported with one exponent of 0 to 64; cast them first");
  Value result = b.make<BroadcastLikeOp>(b.makeScalar(elementTypeOf(x.value), 1), x.value);
  for (int64_t bits = int64_t(*exponent); bits > 0; bits /= 2) {
    if (bits % 2)
      result = b.make<MultiplyOp>(result, x.value);
    x.value = b.make<MultiplyOp>(x.value, x.value);
  }
  return result;
}

Value floorDivide(B &b) {
  auto [x, y] = b.getPair();
  if (!x)
    return {};
  if (elementTypeOf(x.value).isInteger(1))
    return b.error("'FloorDivide' of truth values is not supported; cast them first");
  if (!x.isFloat())
    return b.make<IntegerOp>(IntegerKind::FloorDivide, x.value, y.value);
  return b.make<FloorOp>(b.make<DivideOp>(x.value, y.value));
}

/// The remainder with the sign of y, as in Python: that of C, and y more where their signs differ.
Value modulo(B &b) {
  auto [x, y] = b.getPair();
  if (!x)
    return {};
  if (elementTypeOf(x.value).isInteger(1))
    return b.error("'Mod' of truth values is not supported; cast them first");
  if (!x.isFloat())
    return b.make<IntegerOp>(IntegerKind::Modulo, x.value, y.value);
  Value rest = b.make<RemainderOp>(x.value, y.value), zero = b.makeConstant(0.0);
  Value differ =
      b.makeCompare(ComparePredicate::NE, b.makeCompare(ComparePredicate::LT, rest, zero),
                    b.makeCompare(ComparePredicate::LT, y.value, zero));
  Value more = b.make<LogicalAndOp>(b.makeCompare(ComparePredicate::NE, rest, zero), differ);
  return b.makeSelect(more, b.make<AddOp>(rest, y.value), rest);
}

template <ComparePredicate predicate> Value compare(B &b) {
  auto [x, y] = b.getPair();
  return x ? b.makeCompare(predicate, x.value, y.value) : Value();
}

Value select(B &b) {
  Value condition = b.getValue(0, "condition");
  if (!b.findArgument(1, "x1") || !b.findArgument(2, "x2"))
    return b.error("'Where' without values gives places, whose number depends on the data; give it "
                   "x1 and x2");
  Operand values[2] = {b.getOperand(1, "x1"), b.getOperand(2, "x2")};
  if (!condition || b.hasFailed() || !b.promote(values))
    return {};
  return b.makeSelect(b.makeBool(condition), values[0].value, values[1].value);
}

Value clip(B &b) {
  Operand operands[3] = {b.getOperand(0, "x"), b.getOperand(1, "x_min"), b.getOperand(2, "x_max")};
  if (b.hasFailed() || !b.promote(operands))
    return {};
  Value low = b.make<MinimumOp>(operands[0].value, operands[2].value);
  return b.make<MaximumOp>(low, operands[1].value);
}

// ---- Logic --------------------------------------------------------------------------------------

enum class Logic { And, Or, Xor };

template <Logic logic> Value logical(B &b) {
  Value x = b.getValue(0, "x1"), y = b.getValue(1, "x2");
  if (!x || !y)
    return {};
  x = b.makeBool(x), y = b.makeBool(y);
  if (logic == Logic::And)
    return b.make<LogicalAndOp>(x, y);
  if (logic == Logic::Or)
    return b.makeSelect(x, x, y);
  return b.makeCompare(ComparePredicate::NE, x, y);
}

Value logicalNot(B &b) {
  Value x = b.getValue(0, "x");
  return x ? b.makeNot(b.makeBool(x)) : Value();
}

// ---- One tensor ---------------------------------------------------------------------------------

template <typename Op> Value unary(B &b) {
  Value x = b.getFloat(0, "x");
  return x ? b.make<Op>(x) : Value();
}

Value sign(B &b) {
  Operand x = b.getOperand(0, "x");
  if (!x || x.isFloat())
    return x ? b.make<SignOp>(x.value) : Value();
  const mlir::Type type = elementTypeOf(x.value);
  if (type.isInteger(1))
    return b.error("'Sign' of truth values is not supported; cast them first");
  Value zero = b.makeZero(type);
  auto ofSide = [&](ComparePredicate side, double number) {
    return b.makeSelect(side, x.value, zero, b.makeScalar(type, number), zero);
  };
  return b.make<AddOp>(ofSide(ComparePredicate::GT, 1), ofSide(ComparePredicate::LT, -1));
}

Value negative(B &b) {
  Operand x = b.getOperand(0, "x");
  if (!x || x.isFloat())
    return x ? b.make<NegateOp>(x.value) : Value();
  return b.make<SubtractOp>(b.makeScalar(elementTypeOf(x.value), 0), x.value);
}

Value absolute(B &b) {
  Operand x = b.getOperand(0, "x");
  if (!x || x.isFloat())
    return x ? b.make<AbsOp>(x.value) : Value();
  const mlir::Type type = elementTypeOf(x.value);
  if (type.isUnsignedInteger() || type.isInteger(1))
    return x.value;
  return b.make<MaximumOp>(x.value, b.make<SubtractOp>(b.makeScalar(type, 0), x.value));
}

Value square(B &b) {
  Value x = b.getValue(0, "x");
  if (x && elementTypeOf(x).isInteger(1))
    x = b.make<CastOp>(mlir::RankedTensorType::get(b.shapeOf(x), b.builder.getI32Type()), x);
  return x ? b.make<MultiplyOp>(x, x) : Value();
}

Value reciprocal(B &b) {
  Value x = b.getFloat(0, "x");
  return x ? b.make<DivideOp>(b.makeConstant(1.0), x) : Value();
}

Value ceil(B &b) {
  Value x = b.getFloat(0, "x");
  return x ? b.make<NegateOp>(b.make<FloorOp>(b.make<NegateOp>(x))) : Value();
}

Value tangent(B &b) {
  Value x = b.getFloat(0, "x");
  return x ? b.make<DivideOp>(b.make<SinOp>(x), b.make<CosOp>(x)) : Value();
}

/// log(x) / log(base), as TensorFlow computes it.
template <int base> Value logarithm(B &b) {
  Value x = b.getFloat(0, "x");
  return x ? b.make<DivideOp>(b.make<LogOp>(x), b.makeConstant(std::log(double(base)))) : Value();
}

/// 2^x
Value exp2(B &b) {
  Value x = b.getFloat(0, "x");
  return x ? b.make<PowerOp>(b.makeConstant(2.0), x) : Value();
}

} // namespace

Value addLogarithms(OperationBuilder &b, mlir::Value x, mlir::Value y, Value (*tail)(B &, Value)) {
  Value difference = b.make<SubtractOp>(x, y);
  Value isNumber = b.makeCompare(ComparePredicate::EQ, difference, difference);
  Value distance =
      b.make<AbsOp>(b.makeSelect(isNumber, difference, b.makeCastLike(b.makeConstant(0.0), x)));
  return b.makeSelect(isNumber, b.make<AddOp>(b.make<MaximumOp>(x, y), tail(b, distance)),
                      b.make<AddOp>(x, y));
}

namespace {

/// max(x, y) + log1p(e^-|x - y|)
Value logAddExp(B &b) {
  auto [x, y] = b.getFloatPair();
  return x ? addLogarithms(b, x, y,
                           [](B &b, Value distance) -> Value {
                             return b.make<Log1pOp>(b.make<ExpOp>(b.make<NegateOp>(distance)));
                           })
           : Value();
}

Value isNan(B &b) {
  Value x = b.getFloat(0, "x");
  return x ? b.makeCompare(ComparePredicate::NE, x, x) : Value();
}

Value isInfinite(B &b) {
  Value x = b.getFloat(0, "x");
  if (!x)
    return {};
  Value number = b.makeCompare(ComparePredicate::EQ, x, x);
  return b.make<LogicalAndOp>(number, b.makeNot(b.make<IsFiniteOp>(x)));
}

Value copy(B &b) { return b.getValue(0, "x"); }

Value stopGradient(B &b) {
  Operand x = b.getOperand(0, "variable");
  return x && x.isFloat() ? b.make<StopGradientOp>(x.value) : x.value;
}

/// Keras's x.astype: also of constants, whose dtype it fixes.
Value castTo(B &b) {
  Value x = b.getValue(0, "x");
  return x ? castToDType(b, x, b.getString(1, "dtype", "")) : Value();
}

/// The dtype that it is told, or what it has.
Value convertToTensor(B &b) {
  return b.getString(kKeywordOnly, "dtype", "").empty() ? b.getValue(0, "x") : castTo(b);
}

Value fullLike(B &b) {
  Value x = b.getValue(0, "x");
  Operand fill = b.getOperand(1, "fill_value");
  if (!x || !fill)
    return {};
  if (b.findArgument(kKeywordOnly, "dtype"))
    return b.error("'FullLike' with a dtype is not supported; use cast");
  const bool floats = mlir::isa<mlir::FloatType>(elementTypeOf(x));
  if (b.rankOf(fill.value) != 0 || (fill.isFloat() && !floats))
    return b.error("'FullLike' needs one number of the tensor's kind");
  if (floats)
    return b.make<BroadcastLikeOp>(b.makeCastLike(fill.value, x), x);
  Value number = fill.value;
  if (elementTypeOf(number) != elementTypeOf(x))
    number = b.make<CastOp>(mlir::RankedTensorType::get({}, elementTypeOf(x)), number);
  return b.make<BroadcastLikeOp>(number, x);
}

/// The first choice whose condition holds.
Value selectFirst(B &b) {
  llvm::SmallVector<Operand> conditions = b.getOperands(0, "condlist"),
                             choices = b.getOperands(1, "choicelist");
  Operand otherwise = b.findArgument(2, "default") ? b.getOperand(2, "default")
                                                   : Operand{b.makeConstant(0.0), true};
  if (b.hasFailed())
    return {};
  if (conditions.size() != choices.size())
    return b.error("'Select' needs as many choices as conditions");
  choices.push_back(otherwise);
  if (!b.promote(choices))
    return {};
  Value y = choices.pop_back_val().value;
  while (!choices.empty()) {
    Value condition = b.makeBool(conditions.pop_back_val().value);
    Value choice = choices.pop_back_val().value;
    if (failed(broadcastShapes({b.shapeOf(condition), b.shapeOf(choice), b.shapeOf(y)})))
      return b.error("the operands of 'Select' have shapes that do not broadcast");
    y = b.makeSelect(condition, choice, y);
  }
  return y;
}

template <bool one> Value fillLike(B &b) {
  Value x = b.getValue(0, "x");
  if (!x)
    return {};
  Value y = b.make<BroadcastLikeOp>(mlir::isa<mlir::FloatType>(elementTypeOf(x))
                                        ? b.makeCastLike(b.makeConstant(one), x)
                                        : b.makeScalar(elementTypeOf(x), one),
                                    x);
  const std::string dtype = b.getString(1, "dtype", "");
  return dtype.empty() ? y : castToDType(b, y, dtype);
}

/// Keras on TensorFlow: every element of a real tensor.
Value isReal(B &b) {
  Value x = b.getValue(0, "x");
  return x ? b.make<BroadcastLikeOp>(b.makeScalar(b.builder.getI1Type(), 1), x) : Value();
}

constexpr OperationEntry kArithmeticOperations[] = {
    {"Abs", absolute},
    {"Absolute", absolute},
    {"Add", binary<AddOp>},
    {"BitwiseAnd", bits<IntegerKind::And>},
    {"BitwiseInvert", invert},
    {"BitwiseLeftShift", bits<IntegerKind::ShiftLeft>},
    {"BitwiseNot", invert},
    {"BitwiseOr", bits<IntegerKind::Or>},
    {"BitwiseRightShift", bits<IntegerKind::ShiftRight>},
    {"BitwiseXor", bits<IntegerKind::Xor>},
    {"Cast", castTo},
    {"Ceil", ceil},
    {"Clip", clip},
    {"ConvertToTensor", convertToTensor},
    {"Copy", copy},
    {"Cos", unary<CosOp>},
    {"Divide", floatBinary<DivideOp>},
    {"DivideNoNan", floatBinary<DivideNoNanOp>},
    {"EmptyLike", fillLike<false>},
    {"Equal", compare<ComparePredicate::EQ>},
    {"Erf", unary<ErfOp>},
    {"Exp", unary<ExpOp>},
    {"Exp2", exp2},
    {"Expm1", unary<Expm1Op>},
    {"Floor", unary<FloorOp>},
    {"FloorDivide", floorDivide},
    {"FullLike", fullLike},
    {"Greater", compare<ComparePredicate::GT>},
    {"GreaterEqual", compare<ComparePredicate::GE>},
    {"Isfinite", unary<IsFiniteOp>},
    {"Isinf", isInfinite},
    {"Isnan", isNan},
    {"Isreal", isReal},
    {"LeftShift", bits<IntegerKind::ShiftLeft>},
    {"Less", compare<ComparePredicate::LT>},
    {"LessEqual", compare<ComparePredicate::LE>},
    {"Log", unary<LogOp>},
    {"Log10", logarithm<10>},
    {"Log1p", unary<Log1pOp>},
    {"Log2", logarithm<2>},
    {"Logaddexp", logAddExp},
    {"LogicalAnd", logical<Logic::And>},
    {"LogicalNot", logicalNot},
    {"LogicalOr", logical<Logic::Or>},
    {"LogicalXor", logical<Logic::Xor>},
    {"Maximum", binary<MaximumOp>},
    {"Minimum", binary<MinimumOp>},
    {"Mod", modulo},
    {"Multiply", binary<MultiplyOp>},
    {"Negative", negative},
    {"NotEqual", compare<ComparePredicate::NE>},
    {"OnesLike", fillLike<true>},
    {"Power", power},
    {"Reciprocal", reciprocal},
    {"RightShift", bits<IntegerKind::ShiftRight>},
    {"Rsqrt", unary<RsqrtOp>},
    {"Select", selectFirst},
    {"Sign", sign},
    {"Sin", unary<SinOp>},
    {"Sqrt", unary<SqrtOp>},
    {"Square", square},
    {"StopGradient", stopGradient},
    {"Subtract", binary<SubtractOp>},
    {"Tan", tangent},
    {"TrueDivide", floatBinary<DivideOp>},
    {"Where", select},
    {"ZerosLike", fillLike<false>},
};

} // namespace

Value castToDType(OperationBuilder &b, Value x, llvm::StringRef dtype) {
  mlir::Type element = dtypeElement(b.builder, dtype);
  if (!element)
    return b.error("'" + b.layer.className + "' to dtype '" + dtype + "' is not supported");
  if (mlir::isa<mlir::FloatType>(element))
    return b.makeCastTo(x, element);
  if (element == elementTypeOf(x))
    return x;
  return b.make<CastOp>(mlir::RankedTensorType::get(b.shapeOf(x), element), x);
}

llvm::ArrayRef<OperationEntry> arithmeticOperations() { return kArithmeticOperations; }

} // namespace mpc::keras
