// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mpc.gelu and its derivative: scalar code and reference values.
#include "dialects/mpc/IR/Gelu.h"
#include "dialects/mpc/IR/Mpc.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <cmath>

using namespace mlir;
using namespace mpc;

namespace {
/// Constants stand on the right, where the canonicalizer leaves them.
struct Scalars {
  OpBuilder &builder;
  Location loc;

  Value constant(Type type, double value) {
    return arith::ConstantOp::create(builder, loc, builder.getFloatAttr(type, value));
  }
  Value mul(Value a, Value b) { return arith::MulFOp::create(builder, loc, a, b); }
  Value mul(Value a, double b) { return mul(a, constant(a.getType(), b)); }
  Value add(Value a, Value b) { return arith::AddFOp::create(builder, loc, a, b); }
  Value add(Value a, double b) { return add(a, constant(a.getType(), b)); }

  /// 0.5 (1 + tanh(u)) with u = kGeluScale (x + kGeluCube x^3), as 1 / (1 + e^-2u): nothing cancels
  /// where tanh is near -1.
  Value share(Value x) {
    Value cube = mul(mul(x, x), x);
    Value e = math::ExpOp::create(builder, loc, mul(add(x, mul(cube, kGeluCube)), -2 * kGeluScale));
    return arith::DivFOp::create(builder, loc, constant(x.getType(), 1), add(e, 1));
  }
};
} // namespace

Value mpc::buildGelu(OpBuilder &builder, Location loc, Value x) {
  Scalars s{builder, loc};
  return s.mul(x, s.share(x));
}

/// With p for the share: p + x p (1 - p) 2 kGeluScale (1 + 3 kGeluCube x^2).
Value mpc::buildGeluGradient(OpBuilder &builder, Location loc, Value cotangent, Value x) {
  Scalars s{builder, loc};
  Value p = s.share(x);
  Value rest = arith::SubFOp::create(builder, loc, s.constant(x.getType(), 1), p).getResult();
  Value slope = s.mul(s.add(s.mul(s.mul(x, x), 3 * kGeluCube), 1), 2 * kGeluScale);
  return s.mul(cotangent, s.add(p, s.mul(s.mul(s.mul(x, p), rest), slope)));
}

static double shareOf(double x) {
  return 1 / (1 + std::exp(-2 * kGeluScale * (x + kGeluCube * x * x * x)));
}

Value GeluOp::buildScalar(OpBuilder &builder, ValueRange scalars) {
  return buildGelu(builder, getLoc(), scalars[0]);
}

double GeluOp::evaluateScalar(ArrayRef<double> scalars) { return scalars[0] * shareOf(scalars[0]); }

LogicalResult GeluOp::buildVjp(OpBuilder &builder, ValueRange cotangents, ArrayRef<bool>,
                               MutableArrayRef<Value> operandCotangents) {
  operandCotangents[0] = GeluGradientOp::create(builder, getLoc(), cotangents[0], getInput());
  return success();
}

Value GeluGradientOp::buildScalar(OpBuilder &builder, ValueRange scalars) {
  return buildGeluGradient(builder, getLoc(), scalars[0], scalars[1]);
}

double GeluGradientOp::evaluateScalar(ArrayRef<double> scalars) {
  const double x = scalars[1], p = shareOf(x);
  return scalars[0] * (p + x * p * (1 - p) * 2 * kGeluScale * (1 + 3 * kGeluCube * x * x));
}

/// With t = tanh(s) and s = kGeluScale (x + kGeluCube x^3), the second derivative of gelu is
/// (1 - t^2) (s' + 0.5 x s'' - x t s'^2).
static Value buildSecondDerivative(OpBuilder &builder, Location loc, Value x) {
  auto constant = [&](double value) {
    return scalarConstant(builder, loc, elementTypeOf(x), value);
  };
  auto mul = [&](Value a, Value b) -> Value { return MultiplyOp::create(builder, loc, a, b); };
  auto add = [&](Value a, Value b) -> Value { return AddOp::create(builder, loc, a, b); };
  auto sub = [&](Value a, Value b) -> Value { return SubtractOp::create(builder, loc, a, b); };
  Value square = mul(x, x);
  Value sum = add(x, mul(mul(square, x), constant(kGeluCube)));
  Value t = TanhOp::create(builder, loc, mul(sum, constant(kGeluScale)));
  Value first = add(mul(square, constant(3 * kGeluCube * kGeluScale)), constant(kGeluScale));
  // 0.5 x s''
  Value second = mul(square, constant(3 * kGeluCube * kGeluScale));
  Value bend = sub(add(first, second), mul(mul(x, t), mul(first, first)));
  return mul(sub(constant(1), mul(t, t)), bend);
}

LogicalResult GeluGradientOp::buildVjp(OpBuilder &builder, ValueRange cotangents,
                                       ArrayRef<bool> wanted,
                                       MutableArrayRef<Value> operandCotangents) {
  Location loc = getLoc();
  Value dy = cotangents[0];
  if (wanted[0])
    operandCotangents[0] = GeluGradientOp::create(builder, loc, dy, getInput());
  if (wanted[1])
    operandCotangents[1] =
        MultiplyOp::create(builder, loc, MultiplyOp::create(builder, loc, dy, getCotangent()),
                           buildSecondDerivative(builder, loc, getInput()));
  return success();
}
