// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Binary elementwise ops: scalar code, reference value and derivative of each, side by side.
#include "dialects/mpc/IR/Mpc.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <cmath>

using namespace mlir;
using namespace mpc;

Value mpc::sumToType(OpBuilder &builder, Location loc, Value cotangent, RankedTensorType type) {
  auto from = tensorTypeOf(cotangent);
  if (from.getElementType() != type.getElementType())
    cotangent = CastOp::create(builder, loc, from.clone(type.getElementType()), cotangent);
  if (from.getShape() == type.getShape())
    return cotangent;
  SmallVector<int64_t> axes;
  int64_t missing = from.getRank() - type.getRank();
  for (int64_t d = 0; d < from.getRank(); ++d)
    if (d < missing || (type.getDimSize(d - missing) == 1 && from.getDimSize(d) != 1))
      axes.push_back(d);
  Value sum = ReduceOp::create(builder, loc, ReduceKind::Sum, cotangent, axes, /*keep_dims=*/false);
  if (sum.getType() == type)
    return sum;
  return ReshapeOp::create(builder, loc, type, sum);
}

/// The type of the cotangent of an operand: where the op stands for one in each step, that of what
/// all steps share is a sum which is not rounded.
static RankedTensorType cotangentType(Operation *op, Value operand) {
  auto type = tensorTypeOf(operand);
  auto step = dyn_cast<EveryStepOpInterface>(op);
  const bool isShared =
      step && step.getEveryStep() && type.getShape() != tensorTypeOf(op->getResult(0)).getShape();
  return isShared ? type.clone(widerOf32(type.getElementType())) : type;
}

namespace {
/// The two cotangents of a binary op before they are summed to the operands' shapes.
struct BinaryVjp {
  OpBuilder &builder;
  Location loc;
  Value a, b, y, dy;

  /// In float32 or wider: a factor that leaves 16 bits on its way, as a reciprocal of next to
  /// nothing does, would make NaN of a cotangent of 0.
  void widen() {
    isNarrow = elementTypeOf(y) != widerOf32(elementTypeOf(y));
    for (Value *value : {&a, &b, &y, &dy})
      *value = castElements(builder, loc, *value, widerOf32(elementTypeOf(*value)));
  }
  bool isNarrow = false;

  Value constant(double value) { return scalarConstant(builder, loc, elementTypeOf(dy), value); }
  Value neg(Value v) { return NegateOp::create(builder, loc, v); }
  Value mul(Value u, Value v) { return MultiplyOp::create(builder, loc, u, v); }
  Value div(Value u, Value v) { return DivideOp::create(builder, loc, u, v); }
  Value divNoNan(Value u, Value v) { return DivideNoNanOp::create(builder, loc, u, v); }
  /// The result before it was rounded, which 16 bits may not hold.
  Value quotient() { return isNarrow ? div(a, b) : y; }
  Value quotientNoNan() { return isNarrow ? divNoNan(a, b) : y; }
  Value perSquare(Value u) { // dy u / (a^2 + b^2)
    return mul(dy, div(u, AddOp::create(builder, loc, mul(a, a), mul(b, b))));
  }
  Value remainderRhs() { // a / b, rounded towards 0, is how often b is taken off
    Value quotient = div(a, b);
    Value whole = mul(SignOp::create(builder, loc, quotient),
                      FloorOp::create(builder, loc, AbsOp::create(builder, loc, quotient)));
    return neg(mul(dy, whole));
  }
  Value where(ComparePredicate predicate, Value u, Value v, Value yes) {
    return SelectOp::create(builder, loc, CompareOp::create(builder, loc, predicate, u, v), yes,
                            constant(0));
  }
  Value powerLhs() { // b * a^(b - 1)
    Value less = SubtractOp::create(builder, loc, b, constant(1));
    return mul(dy, mul(b, PowerOp::create(builder, loc, a, less)));
  }
  Value powerRhs() { // a^b * log(a), and 0 where a <= 0, as TensorFlow's _PowGrad
    Value positive = CompareOp::create(builder, loc, ComparePredicate::GT, a, constant(0));
    Value safe = SelectOp::create(builder, loc, positive, a, constant(1));
    Value power = isNarrow ? Value(PowerOp::create(builder, loc, a, b)) : y;
    Value slope = mul(power, LogOp::create(builder, loc, safe));
    return mul(dy, SelectOp::create(builder, loc, positive, slope, constant(0)));
  }
};
} // namespace

// PREPARE is said to the BinaryVjp `v`, before LHS and RHS are asked.
#define MPC_BINARY(OP, SCALAR, DOUBLE, PREPARE, LHS, RHS)                                          \
  Value OP::buildScalar(OpBuilder &builder, ValueRange scalars) {                                  \
    Location loc = getLoc();                                                                       \
    Value a = scalars[0], b = scalars[1];                                                          \
    return SCALAR;                                                                                 \
  }                                                                                                \
  double OP::evaluateScalar(ArrayRef<double> scalars) {                                            \
    double a = scalars[0], b = scalars[1];                                                         \
    return DOUBLE;                                                                                 \
  }                                                                                                \
  LogicalResult OP::buildVjp(OpBuilder &builder, ValueRange cotangents, ArrayRef<bool> wanted,     \
                             MutableArrayRef<Value> operandCotangents) {                           \
    BinaryVjp v{builder, getLoc(), getLhs(), getRhs(), getResult(), cotangents[0]};                \
    PREPARE;                                                                                       \
    Value dy = v.dy;                                                                               \
    (void)dy;                                                                                      \
    if (wanted[0])                                                                                 \
      operandCotangents[0] = sumToType(builder, getLoc(), LHS, cotangentType(*this, getLhs()));    \
    if (wanted[1])                                                                                 \
      operandCotangents[1] = sumToType(builder, getLoc(), RHS, cotangentType(*this, getRhs()));    \
    return success();                                                                              \
  }

// These ops take integers, too; VALUE serves both.
#define MPC_ARITHMETIC(OP, SCALAR, VALUE, LHS, RHS)                                                \
  MPC_BINARY(OP, SCALAR, VALUE, (void)v, LHS, RHS)                                                 \
  llvm::APSInt OP::evaluateIntegers(ArrayRef<llvm::APSInt> scalars) {                              \
    const llvm::APSInt &a = scalars[0], &b = scalars[1];                                           \
    return VALUE;                                                                                  \
  }

static double divideNoNan(double a, double b) { return b == 0 ? 0 : a / b; }
static double maximumOf(double a, double b) {
  return std::isnan(a) || std::isnan(b) ? NAN : std::fmax(a, b);
}
static double minimumOf(double a, double b) {
  return std::isnan(a) || std::isnan(b) ? NAN : std::fmin(a, b);
}

static llvm::APSInt maximumOf(const llvm::APSInt &a, const llvm::APSInt &b) {
  return a < b ? b : a;
}
static llvm::APSInt minimumOf(const llvm::APSInt &a, const llvm::APSInt &b) {
  return b < a ? b : a;
}

static bool isInteger(Value scalar) { return isa<IntegerType>(scalar.getType()); }
static Value buildAdd(OpBuilder &builder, Location loc, Value a, Value b) {
  return isInteger(a) ? Value(arith::AddIOp::create(builder, loc, a, b))
                      : arith::AddFOp::create(builder, loc, a, b);
}
static Value buildSubtract(OpBuilder &builder, Location loc, Value a, Value b) {
  return isInteger(a) ? Value(arith::SubIOp::create(builder, loc, a, b))
                      : arith::SubFOp::create(builder, loc, a, b);
}
static Value buildMultiply(OpBuilder &builder, Location loc, Value a, Value b) {
  return isInteger(a) ? Value(arith::MulIOp::create(builder, loc, a, b))
                      : arith::MulFOp::create(builder, loc, a, b);
}
/// `declared` has the signedness that the scalars lost.
static Value buildMaximum(OpBuilder &builder, Location loc, Type declared, Value a, Value b) {
  if (!isInteger(a))
    return arith::MaximumFOp::create(builder, loc, a, b);
  return declared.isUnsignedInteger() || declared.isInteger(1)
             ? Value(arith::MaxUIOp::create(builder, loc, a, b))
             : arith::MaxSIOp::create(builder, loc, a, b);
}
static Value buildMinimum(OpBuilder &builder, Location loc, Type declared, Value a, Value b) {
  if (!isInteger(a))
    return arith::MinimumFOp::create(builder, loc, a, b);
  return declared.isUnsignedInteger() || declared.isInteger(1)
             ? Value(arith::MinUIOp::create(builder, loc, a, b))
             : arith::MinSIOp::create(builder, loc, a, b);
}

static Value buildDivideNoNan(OpBuilder &builder, Location loc, Value a, Value b) {
  Value zero = arith::ConstantOp::create(builder, loc, builder.getFloatAttr(a.getType(), 0));
  Value isZero = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ, b, zero);
  return arith::SelectOp::create(builder, loc, isZero, zero,
                                 arith::DivFOp::create(builder, loc, a, b));
}

MPC_ARITHMETIC(AddOp, buildAdd(builder, loc, a, b), a + b, dy, dy)
MPC_ARITHMETIC(SubtractOp, buildSubtract(builder, loc, a, b), a - b, dy, v.neg(dy))
MPC_ARITHMETIC(MultiplyOp, buildMultiply(builder, loc, a, b), a *b, v.mul(dy, v.b), v.mul(dy, v.a))
MPC_BINARY(DivideOp, arith::DivFOp::create(builder, loc, a, b), a / b, v.widen(), v.div(dy, v.b),
           v.mul(dy, v.neg(v.div(v.quotient(), v.b))))
MPC_BINARY(DivideNoNanOp, buildDivideNoNan(builder, loc, a, b), divideNoNan(a, b), v.widen(),
           v.divNoNan(dy, v.b), v.mul(dy, v.neg(v.divNoNan(v.quotientNoNan(), v.b))))
MPC_ARITHMETIC(MaximumOp, buildMaximum(builder, loc, elementTypeOf(getLhs()), a, b),
               maximumOf(a, b), v.where(ComparePredicate::GE, v.a, v.b, dy),
               v.where(ComparePredicate::LT, v.a, v.b, dy))
MPC_ARITHMETIC(MinimumOp, buildMinimum(builder, loc, elementTypeOf(getLhs()), a, b),
               minimumOf(a, b), v.where(ComparePredicate::LE, v.a, v.b, dy),
               v.where(ComparePredicate::GT, v.a, v.b, dy))
MPC_BINARY(PowerOp, math::PowFOp::create(builder, loc, a, b), std::pow(a, b), v.widen(),
           v.powerLhs(), v.powerRhs())
MPC_BINARY(RemainderOp, arith::RemFOp::create(builder, loc, a, b), std::fmod(a, b), v.widen(), dy,
           v.remainderRhs())
MPC_BINARY(Arctan2Op, math::Atan2Op::create(builder, loc, a, b), std::atan2(a, b), v.widen(),
           v.perSquare(v.b), v.neg(v.perSquare(v.a)))
