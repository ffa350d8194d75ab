// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Unary elementwise ops: scalar code, reference value and derivative of each, side by side.
#include "dialects/mpc/IR/Mpc.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <cmath>

using namespace mlir;
using namespace mpc;

namespace {
/// Builds derivative expressions in the op's own element type, as Keras's gradients are computed.
struct Expression {
  OpBuilder &builder;
  Location loc;
  Type element;

  Value constant(double value) { return scalarConstant(builder, loc, element, value); }
  Value mul(Value a, Value b) { return MultiplyOp::create(builder, loc, a, b); }
  Value mul(Value a, double b) { return mul(a, constant(b)); }
  Value sub(double a, Value b) { return SubtractOp::create(builder, loc, constant(a), b); }
  Value add(double a, Value b) { return AddOp::create(builder, loc, constant(a), b); }
  Value div(Value a, Value b) { return DivideOp::create(builder, loc, a, b); }

  /// 0 where dy is, whatever the derivative: as TensorFlow's gradients of roots, so that those of
  /// places that a choice leaves out stay out.
  Value unlessZero(Value dy, Value product) {
    Value isZero = CompareOp::create(builder, loc, ComparePredicate::EQ, dy, constant(0));
    return SelectOp::create(builder, loc, isZero, constant(0), product);
  }
  /// dy times -y^3 / 2, in float32 or wider: the cube of a result that 16 bits hold may leave them.
  Value rsqrt(Value dy, Value y) {
    Expression wide{builder, loc, widerOf32(element)};
    Value wideDy = castElements(builder, loc, dy, wide.element);
    y = castElements(builder, loc, y, wide.element);
    Value slope = wide.mul(wide.mul(wideDy, -0.5), wide.mul(y, wide.mul(y, y)));
    return unlessZero(dy, castElements(builder, loc, slope, element));
  }
};
} // namespace

static Value floatConstant(OpBuilder &b, Location loc, Type type, double value) {
  return arith::ConstantOp::create(b, loc, b.getFloatAttr(type, value));
}

// MPC_UNARY(Op, scalar code of x, double value of x, derivative times dy from x, y)
#define MPC_UNARY(OP, SCALAR, DOUBLE, VJP)                                                         \
  Value OP::buildScalar(OpBuilder &b, ValueRange scalars) {                                        \
    Location loc = getLoc();                                                                       \
    Value x = scalars[0];                                                                          \
    (void)loc;                                                                                     \
    return SCALAR;                                                                                 \
  }                                                                                                \
  double OP::evaluateScalar(ArrayRef<double> scalars) {                                            \
    double x = scalars[0];                                                                         \
    return DOUBLE;                                                                                 \
  }                                                                                                \
  LogicalResult OP::buildVjp(OpBuilder &builder, ValueRange cotangents, ArrayRef<bool> wanted,     \
                             MutableArrayRef<Value> operandCotangents) {                           \
    Expression e{builder, getLoc(), elementTypeOf(getResult())};                                   \
    Value dy = cotangents[0], x = getInput(), y = getResult();                                     \
    (void)e, (void)x, (void)y, (void)dy;                                                           \
    operandCotangents[0] = VJP;                                                                    \
    return success();                                                                              \
  }

static double signOf(double x) { return x > 0 ? 1 : x < 0 ? -1 : x; }
static double sigmoidOf(double x) {
  return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x));
}

/// x > 0 ? 1 : x < 0 ? -1 : x, so that zeros and NaN pass.
static Value buildSign(OpBuilder &b, Location loc, Value x) {
  Value zero = floatConstant(b, loc, x.getType(), 0);
  Value positive = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OGT, x, zero);
  Value negative = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLT, x, zero);
  Value low = arith::SelectOp::create(b, loc, negative, floatConstant(b, loc, x.getType(), -1), x);
  return arith::SelectOp::create(b, loc, positive, floatConstant(b, loc, x.getType(), 1), low);
}

/// 1 / (1 + e^-x): for very negative x, e^-x is infinite and the quotient the right 0.
static Value buildSigmoid(OpBuilder &b, Location loc, Value x) {
  Value one = floatConstant(b, loc, x.getType(), 1);
  Value e = math::ExpOp::create(b, loc, arith::NegFOp::create(b, loc, x));
  return arith::DivFOp::create(b, loc, one, arith::AddFOp::create(b, loc, one, e));
}

/// max(x, 0) + log1p(e^-|x|), stable at both ends.
static Value buildSoftplus(OpBuilder &b, Location loc, Value x) {
  Value zero = floatConstant(b, loc, x.getType(), 0);
  Value top = arith::MaximumFOp::create(b, loc, x, zero);
  Value e =
      math::ExpOp::create(b, loc, arith::NegFOp::create(b, loc, math::AbsFOp::create(b, loc, x)));
  return arith::AddFOp::create(b, loc, top, math::Log1pOp::create(b, loc, e));
}

static Value buildReluVjp(Expression &e, Value dy, Value y) {
  Value positive = CompareOp::create(e.builder, e.loc, ComparePredicate::GT, y, e.constant(0));
  return SelectOp::create(e.builder, e.loc, positive, dy, e.constant(0));
}

/// 2 / sqrt(pi) e^(-x^2)
static Value buildErfSlope(Expression &e, Value x) {
  return e.mul(ExpOp::create(e.builder, e.loc, NegateOp::create(e.builder, e.loc, e.mul(x, x))),
               M_2_SQRTPI);
}

MPC_UNARY(NegateOp, arith::NegFOp::create(b, loc, x), -x, NegateOp::create(builder, e.loc, dy))
MPC_UNARY(AbsOp, math::AbsFOp::create(b, loc, x), std::fabs(x),
          e.mul(dy, SignOp::create(builder, e.loc, x)))
MPC_UNARY(SignOp, buildSign(b, loc, x), signOf(x), nullptr)
MPC_UNARY(FloorOp, math::FloorOp::create(b, loc, x), std::floor(x), nullptr)
MPC_UNARY(ExpOp, math::ExpOp::create(b, loc, x), std::exp(x), e.mul(dy, y))
MPC_UNARY(Expm1Op, math::ExpM1Op::create(b, loc, x), std::expm1(x),
          e.mul(dy, ExpOp::create(builder, e.loc, x)))
MPC_UNARY(LogOp, math::LogOp::create(b, loc, x), std::log(x), e.div(dy, x))
MPC_UNARY(Log1pOp, math::Log1pOp::create(b, loc, x), std::log1p(x), e.div(dy, e.add(1, x)))
MPC_UNARY(SqrtOp, math::SqrtOp::create(b, loc, x), std::sqrt(x),
          e.unlessZero(dy, e.div(e.mul(dy, 0.5), y)))
MPC_UNARY(RsqrtOp,
          arith::DivFOp::create(b, loc, floatConstant(b, loc, x.getType(), 1),
                                math::SqrtOp::create(b, loc, x)),
          1 / std::sqrt(x), e.rsqrt(dy, y))
MPC_UNARY(CosOp, math::CosOp::create(b, loc, x), std::cos(x),
          NegateOp::create(builder, e.loc, e.mul(dy, SinOp::create(builder, e.loc, x))))
MPC_UNARY(SinOp, math::SinOp::create(b, loc, x), std::sin(x),
          e.mul(dy, CosOp::create(builder, e.loc, x)))
MPC_UNARY(TanhOp, math::TanhOp::create(b, loc, x), std::tanh(x), e.mul(dy, e.sub(1, e.mul(y, y))))
MPC_UNARY(SigmoidOp, buildSigmoid(b, loc, x), sigmoidOf(x), e.mul(dy, e.mul(y, e.sub(1, y))))
MPC_UNARY(SoftplusOp, buildSoftplus(b, loc, x),
          std::fmax(x, 0) + std::log1p(std::exp(-std::fabs(x))),
          e.mul(dy, SigmoidOp::create(builder, e.loc, x)))
MPC_UNARY(ErfOp, math::ErfOp::create(b, loc, x), std::erf(x), e.mul(dy, buildErfSlope(e, x)))
MPC_UNARY(ErfcOp, math::ErfcOp::create(b, loc, x), std::erfc(x),
          NegateOp::create(builder, e.loc, e.mul(dy, buildErfSlope(e, x))))
MPC_UNARY(ReluOp, arith::MaximumFOp::create(b, loc, x, floatConstant(b, loc, x.getType(), 0)),
          std::isnan(x) ? x : std::fmax(x, 0), buildReluVjp(e, dy, y))
