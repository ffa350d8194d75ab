// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Functions of real numbers that are composed of others (keras/src/backend/tensorflow/numpy.py).
#include "OperationBuilder.h"

#include <cmath>

namespace mpc::keras {
namespace {

using mlir::Value;
using B = OperationBuilder;

constexpr double kPi = 3.14159265358979323846;

/// (e^x ± e^-x) / 2 in float32 or wider, rounded once; without cancellation where x is small.
template <bool sine> Value hyperbolic(B &b) {
  Value x = b.getFloat(0, "x");
  if (!x)
    return {};
  Value wide = b.makeCastLike(x, x, /*wide=*/true), minus = b.make<NegateOp>(wide);
  Value sum = sine ? b.make<SubtractOp>(b.make<Expm1Op>(wide), b.make<Expm1Op>(minus))
                   : b.make<AddOp>(b.make<ExpOp>(wide), b.make<ExpOp>(minus));
  return b.makeCastLike(b.make<MultiplyOp>(sum, b.makeConstant(0.5)), x);
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
  Value up = b.make<NegateOp>(b.make<FloorOp>(b.make<NegateOp>(x.value)));
  Value negative = b.makeCompare(ComparePredicate::LT, x.value, b.makeConstant(0.0));
  return b.makeSelect(negative, up, b.make<FloorOp>(x.value));
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

/// The extremum, or the number where the other is NaN.
template <typename Op> Value extremum(B &b) {
  auto [x, y] = b.getFloatPair();
  if (!x)
    return {};
  Value xIsNumber = b.makeCompare(ComparePredicate::EQ, x, x);
  Value yIsNumber = b.makeCompare(ComparePredicate::EQ, y, y);
  return b.makeSelect(xIsNumber, b.makeSelect(yIsNumber, b.make<Op>(x, y), x), y);
}

constexpr OperationEntry kRealFunctions[] = {
    {"Cbrt", cubeRoot},      {"Cosh", hyperbolic<false>},   {"Deg2rad", turn<true>},
    {"Fabs", absoluteFloat}, {"Fmax", extremum<MaximumOp>}, {"Fmin", extremum<MinimumOp>},
    {"Heaviside", step},     {"Hypot", hypotenuse},         {"Rad2deg", turn<false>},
    {"Round", round},        {"Sinh", hyperbolic<true>},    {"Trunc", truncate},
};

} // namespace

llvm::ArrayRef<OperationEntry> realFunctions() { return kRealFunctions; }

} // namespace mpc::keras
