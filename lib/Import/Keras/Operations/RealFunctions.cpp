// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Functions of real numbers that are composed of others (keras/src/backend/tensorflow/numpy.py).
#include "lib/Import/Common/RealFunctions.h"
#include "lib/Import/Keras/Operations/OperationBuilder.h"

#include "lib/Import/Keras/Dtype.h"

#include <cmath>
#include <limits>

namespace mpc::keras {
namespace {

using mlir::Value;
using B = OperationBuilder;

constexpr double kPi = 3.14159265358979323846;

template <Value apply(ValueBuilder &, Value)> Value ofFloat(B &b) {
  Value x = b.getFloat(0, "x");
  return x ? apply(b, x) : Value();
}

/// sign(x) |x|^(1/3)
Value cubeRoot(B &b) {
  Value x = b.getFloat(0, "x");
  return x ? b.make<MultiplyOp>(b.make<SignOp>(x),
                                b.make<PowerOp>(b.make<AbsOp>(x), b.makeConstant(1.0 / 3.0)))
           : Value();
}

/// x (from / to), the quotient rounded first.
template <bool toRadians> Value turn(B &b) {
  Value x = b.getFloat(0, "x");
  if (!x)
    return {};
  Value pi = b.makeCastLike(b.makeConstant(kPi), x),
        half = b.makeCastLike(b.makeConstant(180.0), x);
  return b.make<MultiplyOp>(x, toRadians ? b.make<DivideOp>(pi, half) : b.make<DivideOp>(half, pi));
}

Value absoluteFloat(B &b) {
  Value x = b.getFloat(0, "x");
  return x ? b.make<AbsOp>(x) : Value();
}

/// Towards zero; integers as they are.
Value truncate(B &b) {
  Operand x = b.getOperand(0, "x");
  if (!x || !x.isFloat())
    return x.value;
  return applyTruncation(b, x.value);
}

/// To the nearest multiple of 10^-decimals, ties to the even one; integers as they are.
Value round(B &b) {
  Operand operand = b.getOperand(0, "x");
  if (!operand)
    return {};
  Value x = operand.value;
  const int64_t decimals = b.getInteger(1, "decimals").value_or(0);
  if (!operand.isFloat())
    return decimals >= 0 ? x
                         : b.error("'Round' of integers to tens is not supported; cast them first");
  if (decimals == 0)
    return b.make<RoundOp>(x);
  if (decimals < -300 || decimals > 300)
    return b.error("'Round' to " + llvm::Twine(decimals) + " decimals is not supported");
  Value scale = b.makeConstant(std::pow(10.0, double(decimals)));
  return b.make<DivideOp>(b.make<RoundOp>(b.make<MultiplyOp>(x, scale)), scale);
}

/// The larger of |x|, |y| times sqrt(1 + ratio^2): no overflow on the way.
Value hypotenuse(B &b) {
  auto [x, y] = b.getFloatPair();
  if (!x)
    return {};
  x = b.make<AbsOp>(x), y = b.make<AbsOp>(y);
  Value most = b.make<MaximumOp>(x, y);
  Value ratio = b.make<DivideNoNanOp>(b.make<MinimumOp>(x, y), most);
  Value squared = b.make<AddOp>(b.makeConstant(1.0), b.make<MultiplyOp>(ratio, ratio));
  return b.make<MultiplyOp>(most, b.make<SqrtOp>(squared));
}

/// 0 below zero, 1 above, x2 at zero.
Value step(B &b) {
  auto [x, y] = b.getFloatPair();
  if (!x)
    return {};
  Value zero = b.makeConstant(0.0);
  Value above = b.makeSelect(b.makeCompare(ComparePredicate::GT, x, zero),
                             b.makeCastLike(b.makeConstant(1.0), y), y);
  return b.makeSelect(b.makeCompare(ComparePredicate::LT, x, zero), b.makeCastLike(zero, y), above);
}

/// The extremum, or the number where the other is NaN; of integers in their own dtype.
template <typename Op> Value extremum(B &b) {
  auto [first, second] = b.getPair();
  if (!first)
    return {};
  if (!first.isFloat() && !elementTypeOf(first.value).isInteger(1))
    return b.make<Op>(first.value, second.value);
  auto [x, y] = b.getFloatPair();
  Value xIsNumber = b.makeCompare(ComparePredicate::EQ, x, x);
  Value yIsNumber = b.makeCompare(ComparePredicate::EQ, y, y);
  return b.makeSelect(xIsNumber, b.makeSelect(yIsNumber, b.make<Op>(x, y), x), y);
}

/// The remainder with the sign of x, as in C.
Value remainder(B &b) {
  auto [x, y] = b.getFloatPair();
  return x ? b.make<RemainderOp>(x, y) : Value();
}

/// sin(pi x) / (pi x), 1 at 0.
/// In float32 or wider: next to 0 its derivative is a difference of two large numbers.
Value sinc(B &b) {
  Value x = b.getFloat(0, "x");
  if (!x)
    return {};
  Value wide = b.makeCastLike(x, x, /*wide=*/true);
  Value zero = b.makeCompare(ComparePredicate::EQ, wide, b.makeConstant(0.0));
  Value one = b.makeCastLike(b.makeConstant(1.0), wide);
  Value angle = b.make<MultiplyOp>(b.makeSelect(zero, one, wide), b.makeConstant(kPi));
  return b.makeCastLike(b.makeSelect(zero, one, b.make<DivideOp>(b.make<SinOp>(angle), angle)), x);
}

Value complementaryErrorFunction(B &b) {
  Value x = b.getFloat(0, "x");
  return x ? b.make<ErfcOp>(x) : Value();
}

/// max(x, y) + log2(1 + 2^-|x - y|)
Value logAddExp2(B &b) {
  auto [x, y] = b.getFloatPair();
  if (!x)
    return {};
  return addLogarithms(b, x, y, [](B &b, Value distance) -> Value {
    Value decay = b.make<PowerOp>(b.makeConstant(2.0), b.make<NegateOp>(distance));
    return b.make<DivideOp>(b.make<Log1pOp>(decay), b.makeConstant(std::log(2.0)));
  });
}

template <bool positive> Value isInfinity(B &b) {
  Value x = b.getFloat(0, "x");
  if (!x)
    return {};
  Value bounded = b.make<IsFiniteOp>(x);
  Value side =
      b.makeCompare(positive ? ComparePredicate::GT : ComparePredicate::LT, x, b.makeConstant(0.0));
  return b.make<LogicalAndOp>(side, b.makeNot(bounded));
}

/// |x - y| <= atol + rtol |y|, or equal infinities, or NaN where that counts.
Value isClose(B &b) {
  auto [x, y] = b.getFloatPair();
  if (!x)
    return {};
  const double relative = b.getNumber(2, "rtol").value_or(1e-5),
               absolute = b.getNumber(3, "atol").value_or(1e-8);
  Value bound = b.make<AddOp>(b.makeConstant(absolute),
                              b.make<MultiplyOp>(b.makeConstant(relative), b.make<AbsOp>(y)));
  Value distance = b.make<AbsOp>(b.make<SubtractOp>(x, y));
  Value near = b.make<LogicalAndOp>(b.makeCompare(ComparePredicate::LE, distance, bound),
                                    b.make<IsFiniteOp>(y));
  Value close = b.makeOr(near, b.makeCompare(ComparePredicate::EQ, x, y));
  if (!b.getFlag(kKeywordOnly, "equal_nan", false))
    return close;
  Value both = b.make<LogicalAndOp>(b.makeCompare(ComparePredicate::NE, x, x),
                                    b.makeCompare(ComparePredicate::NE, y, y));
  return b.makeOr(close, both);
}

/// The largest finite number of the dtype that policies give `like`: float64's, else float32's,
/// bfloat16's, float16's.
Value largestFinite(B &b, Value like) {
  Value largest;
  for (double number : {65504.0, 3.3895313892515355e38, 3.4028234663852886e38,
                        std::numeric_limits<double>::max()}) {
    Value candidate = b.makeCastLike(b.makeConstant(number), like);
    largest = largest ? b.makeSelect(b.make<IsFiniteOp>(candidate), candidate, largest) : candidate;
  }
  return largest;
}

Value replaceNonFinite(B &b, Value x, double nan, std::optional<double> high,
                       std::optional<double> low) {
  auto like = [&](double value) { return b.makeCastLike(b.makeConstant(value), x); };
  Value top = high ? like(*high) : largestFinite(b, x);
  Value bottom = low ? like(*low) : b.make<NegateOp>(largestFinite(b, x));
  Value positive = b.makeCompare(ComparePredicate::GT, x, b.makeConstant(0.0));
  Value isNumber = b.makeCompare(ComparePredicate::EQ, x, x);
  Value y = b.makeSelect(b.make<IsFiniteOp>(x), x, b.makeSelect(positive, top, bottom));
  return b.makeSelect(isNumber, y, like(nan));
}

Value nanToNumber(B &b) {
  Value x = b.getValue(0, "x");
  if (x && !mlir::isa<mlir::FloatType>(elementTypeOf(x)))
    return x;
  return x ? replaceNonFinite(b, x, b.getNumber(kKeywordOnly, "nan").value_or(0.0),
                              b.getNumber(kKeywordOnly, "posinf"),
                              b.getNumber(kKeywordOnly, "neginf"))
           : x;
}

/// The nearest number that the dtype holds. Limits of 8-bit integers are numbers of every floating
/// dtype; those of wider ones would depend on the operand's, which policies decide.
Value castSaturating(B &b) {
  Operand operand = b.getOperand(0, "x");
  const std::string dtype = b.getString(1, "dtype", "");
  const mlir::Type element = dtypeElement(b.builder, dtype);
  if (!operand)
    return {};
  Value x = operand.value;
  double low = 0.0, high = 1.0;
  if (auto floating = mlir::dyn_cast_or_null<mlir::FloatType>(element);
      floating && operand.isFloat()) {
    high = llvm::APFloat::getLargest(floating.getFloatSemantics()).convertToDouble();
    low = -high;
  } else if (element && element.isUnsignedInteger(8)) {
    high = 255.0;
  } else if (element && element.isInteger(8)) {
    low = -128.0, high = 127.0;
  } else if (!element || !element.isInteger(1)) {
    return b.error("'SaturateCast' to dtype '" + dtype +
                   "' is supported to bool, int8 and uint8, and of floating tensors to float16, "
                   "bfloat16, float32 and float64");
  }
  if (!operand.isFloat()) {
    if (elementTypeOf(x).isInteger(1))
      return castToDType(b, x, dtype);
    if (elementTypeOf(x).isUnsignedInteger() || elementTypeOf(x).isInteger(8))
      x = b.make<CastOp>(mlir::RankedTensorType::get(b.shapeOf(x), b.builder.getI64Type()), x);
    const mlir::Type wide = elementTypeOf(x);
    x = b.make<MinimumOp>(x, b.makeScalar(wide, high));
    return castToDType(b, b.make<MaximumOp>(x, b.makeScalar(wide, low)), dtype);
  }
  // The limit in the operand's dtype, or the number of bfloat16 below it where that rounds up.
  Value limit = b.makeCastLike(b.makeConstant(high), x);
  if (high == 65504.0) {
    Value above = b.makeCompare(ComparePredicate::GT, b.makeCastLike(limit, limit, /*wide=*/true),
                                b.makeConstant(high));
    limit = b.makeSelect(above, b.makeCastLike(b.makeConstant(65280.0), x), limit);
  }
  limit = b.make<MinimumOp>(limit, largestFinite(b, x));
  Value least = low == -high ? b.make<NegateOp>(limit) : b.makeCastLike(b.makeConstant(low), x);
  return castToDType(b, b.make<MaximumOp>(b.make<MinimumOp>(x, limit), least), dtype);
}

// ---- Angles ------------------------------------------------------------------------------------

/// A Python number is a tensor of float32 here, as in Keras's backend.
Value arcTangent2(B &b) {
  auto [y, x] = b.getFloatPair();
  if (!y)
    return {};
  if (b.getLiteral(0, "x1"))
    y = b.makeCastTo(y, b.builder.getF32Type());
  if (b.getLiteral(1, "x2"))
    x = b.makeCastTo(x, b.builder.getF32Type());
  return b.make<Arctan2Op>(y, x);
}

/// Also of -0; NaN counts as positive.
Value signBit(B &b) {
  Operand operand = b.getOperand(0, "x");
  if (!operand)
    return {};
  Value x = operand.value;
  if (elementTypeOf(x).isInteger(1))
    return b.make<BroadcastLikeOp>(b.makeScalar(elementTypeOf(x), 0), x);
  Value zero = b.makeZero(elementTypeOf(x));
  Value negative = b.makeCompare(ComparePredicate::LT, x, zero);
  if (!operand.isFloat())
    return negative;
  Value isZero = b.makeCompare(ComparePredicate::EQ, x, zero);
  Value inverse = b.make<DivideOp>(b.makeConstant(1.0), x);
  return b.makeOr(negative,
                  b.make<LogicalAndOp>(isZero, b.makeCompare(ComparePredicate::LT, inverse, zero)));
}

/// x1 2^x2; zeros and infinities stay.
Value scaleByPower(B &b) {
  Value x = b.getFloat(0, "x1"), exponent = b.getValue(1, "x2");
  if (!x || !exponent)
    return {};
  if (mlir::isa<mlir::FloatType>(elementTypeOf(exponent)))
    return b.error("'Ldexp' needs integers in 'x2'");
  if (failed(broadcastShapes({b.shapeOf(x), b.shapeOf(exponent)})))
    return b.error("the operands of 'Ldexp' have shapes that do not broadcast");
  Value power = b.make<PowerOp>(b.makeConstant(2.0), b.makeCastLike(exponent, x));
  Value scaled = b.make<MultiplyOp>(x, power);
  Value isNumber = b.makeCompare(ComparePredicate::EQ, x, x);
  Value isInfinity = b.make<LogicalAndOp>(b.makeNot(b.make<IsFiniteOp>(x)), isNumber);
  Value stays = b.makeOr(isInfinity, b.makeCompare(ComparePredicate::EQ, x, b.makeConstant(0.0)));
  return b.makeSelect(stays, x, scaled);
}

/// Powers of the elements of a vector, falling or rising, as columns.
Value vandermonde(B &b) {
  Operand operand = b.getOperand(0, "x");
  if (!operand)
    return {};
  Value x = operand.value;
  const bool hasBatch = tensorTypeOf(x).getNumDynamicDims() != 0;
  if (b.rankOf(x) != 1 || (hasBatch && !b.findArgument(kKeywordOnly, "N")))
    return b.error("'Vander' takes a vector, and one of a number per sample needs 'N'");
  const int64_t count = b.getInteger(kKeywordOnly, "N").value_or(b.shapeOf(x).front());
  if (b.hasFailed() || count < 1 || count > 4096)
    return b.error("'N' of 'Vander' must be an integer in [1, 4096]");
  llvm::SmallVector<double> powers;
  for (int64_t power = 0; power < count; ++power)
    powers.push_back(double(power));
  if (!b.getFlag(kKeywordOnly, "increasing", false))
    std::reverse(powers.begin(), powers.end());
  Value base = operand.isFloat() ? x : b.makeCastToFloat(x);
  base = b.makeCastLike(b.makeReshape(base, {b.shapeOf(x).front(), 1}), base, /*wide=*/true);
  Value y = b.make<PowerOp>(base, b.makeCastLike(b.makeConstant({count}, powers), base));
  return operand.isFloat()
             ? b.makeCastLike(y, x)
             : b.make<CastOp>(mlir::RankedTensorType::get(b.shapeOf(y), elementTypeOf(x)), y);
}

Value itself(B &b) { return b.getValue(0, "x"); }

constexpr OperationEntry kRealFunctions[] = {
    {"Arccos", ofFloat<applyArcCosine>},
    {"Arccosh", ofFloat<applyInverseHyperbolicCosine>},
    {"Arcsin", ofFloat<applyArcSine>},
    {"Arcsinh", ofFloat<applyInverseHyperbolicSine>},
    {"Arctan", ofFloat<applyArcTangent>},
    {"Arctan2", arcTangent2},
    {"Arctanh", ofFloat<applyInverseHyperbolicTangent>},
    {"Cbrt", cubeRoot},
    {"Conj", itself},
    {"Conjugate", itself},
    {"Cosh", ofFloat<applyHyperbolicCosine>},
    {"Deg2rad", turn<true>},
    {"Erfc", complementaryErrorFunction},
    {"Fabs", absoluteFloat},
    {"Fmax", extremum<MaximumOp>},
    {"Fmin", extremum<MinimumOp>},
    {"Fmod", remainder},
    {"Heaviside", step},
    {"Hypot", hypotenuse},
    {"Isclose", isClose},
    {"Isneginf", isInfinity<false>},
    {"Isposinf", isInfinity<true>},
    {"Ldexp", scaleByPower},
    {"Logaddexp2", logAddExp2},
    {"NanToNum", nanToNumber},
    {"Rad2deg", turn<false>},
    {"Real", itself},
    {"Round", round},
    {"SaturateCast", castSaturating},
    {"Signbit", signBit},
    {"Sinc", sinc},
    {"Sinh", ofFloat<applyHyperbolicSine>},
    {"Trunc", truncate},
    {"Vander", vandermonde},
};

} // namespace

Value makeFinite(OperationBuilder &b, Value x, double nan) {
  return mlir::isa<mlir::FloatType>(elementTypeOf(x))
             ? replaceNonFinite(b, x, nan, std::nullopt, std::nullopt)
             : x;
}

llvm::ArrayRef<OperationEntry> realFunctions() { return kRealFunctions; }

} // namespace mpc::keras
