// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Comparison, logic and selection.
#include "dialects/mpc/IR/Mpc.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <cmath>

using namespace mlir;
using namespace mpc;

/// Ops whose result is no function that gradients flow through.
#define MPC_NOT_DIFFERENTIABLE(OP)                                                                 \
  LogicalResult OP::buildVjp(OpBuilder &, ValueRange, ArrayRef<bool>, MutableArrayRef<Value>) {    \
    return success();                                                                              \
  }

static arith::CmpFPredicate floatPredicate(ComparePredicate predicate) {
  switch (predicate) {
  case ComparePredicate::EQ:
    return arith::CmpFPredicate::OEQ;
  case ComparePredicate::NE:
    return arith::CmpFPredicate::UNE;
  case ComparePredicate::LT:
    return arith::CmpFPredicate::OLT;
  case ComparePredicate::LE:
    return arith::CmpFPredicate::OLE;
  case ComparePredicate::GT:
    return arith::CmpFPredicate::OGT;
  case ComparePredicate::GE:
    return arith::CmpFPredicate::OGE;
  }
  llvm_unreachable("enumerated");
}

static arith::CmpIPredicate integerPredicate(ComparePredicate predicate, bool isUnsigned) {
  switch (predicate) {
  case ComparePredicate::EQ:
    return arith::CmpIPredicate::eq;
  case ComparePredicate::NE:
    return arith::CmpIPredicate::ne;
  case ComparePredicate::LT:
    return isUnsigned ? arith::CmpIPredicate::ult : arith::CmpIPredicate::slt;
  case ComparePredicate::LE:
    return isUnsigned ? arith::CmpIPredicate::ule : arith::CmpIPredicate::sle;
  case ComparePredicate::GT:
    return isUnsigned ? arith::CmpIPredicate::ugt : arith::CmpIPredicate::sgt;
  case ComparePredicate::GE:
    return isUnsigned ? arith::CmpIPredicate::uge : arith::CmpIPredicate::sge;
  }
  llvm_unreachable("enumerated");
}

Value CompareOp::buildScalar(OpBuilder &builder, ValueRange scalars) {
  if (isa<FloatType>(scalars[0].getType()))
    return arith::CmpFOp::create(builder, getLoc(), floatPredicate(getPredicate()), scalars[0],
                                 scalars[1]);
  Type declared = elementTypeOf(getLhs());
  bool isUnsigned = declared.isUnsignedInteger() || declared.isInteger(1);
  return arith::CmpIOp::create(builder, getLoc(), integerPredicate(getPredicate(), isUnsigned),
                               scalars[0], scalars[1]);
}

template <typename Scalar>
static bool holds(ComparePredicate predicate, const Scalar &a, const Scalar &b) {
  switch (predicate) {
  case ComparePredicate::EQ:
    return a == b;
  case ComparePredicate::NE:
    return a != b;
  case ComparePredicate::LT:
    return a < b;
  case ComparePredicate::LE:
    return a <= b;
  case ComparePredicate::GT:
    return a > b;
  case ComparePredicate::GE:
    return a >= b;
  }
  llvm_unreachable("enumerated");
}

static llvm::APSInt truth(bool value) {
  return llvm::APSInt(llvm::APInt(/*numBits=*/1, value), /*isUnsigned=*/true);
}

double CompareOp::evaluateScalar(ArrayRef<double> s) { return holds(getPredicate(), s[0], s[1]); }
llvm::APSInt CompareOp::evaluateIntegers(ArrayRef<llvm::APSInt> s) {
  return truth(holds(getPredicate(), s[0], s[1]));
}
MPC_NOT_DIFFERENTIABLE(CompareOp)

Value LogicalAndOp::buildScalar(OpBuilder &builder, ValueRange scalars) {
  return arith::AndIOp::create(builder, getLoc(), scalars[0], scalars[1]);
}
double LogicalAndOp::evaluateScalar(ArrayRef<double> s) { return s[0] != 0 && s[1] != 0; }
llvm::APSInt LogicalAndOp::evaluateIntegers(ArrayRef<llvm::APSInt> s) {
  return truth(!s[0].isZero() && !s[1].isZero());
}
MPC_NOT_DIFFERENTIABLE(LogicalAndOp)

Value IsFiniteOp::buildScalar(OpBuilder &builder, ValueRange scalars) {
  return math::IsFiniteOp::create(builder, getLoc(), scalars[0]);
}
double IsFiniteOp::evaluateScalar(ArrayRef<double> s) { return std::isfinite(s[0]); }
MPC_NOT_DIFFERENTIABLE(IsFiniteOp)

Value SelectOp::buildScalar(OpBuilder &builder, ValueRange scalars) {
  return arith::SelectOp::create(builder, getLoc(), scalars[0], scalars[1], scalars[2]);
}
double SelectOp::evaluateScalar(ArrayRef<double> s) { return s[0] != 0 ? s[1] : s[2]; }
llvm::APSInt SelectOp::evaluateIntegers(ArrayRef<llvm::APSInt> s) {
  return s[0].isZero() ? s[2] : s[1];
}

/// A known condition chooses an operand, unless that is repeated along the others.
OpFoldResult SelectOp::fold(FoldAdaptor adaptor) {
  auto known = dyn_cast_or_null<DenseElementsAttr>(adaptor.getCondition());
  Value chosen;
  if (getOnTrue() == getOnFalse())
    chosen = getOnTrue();
  else if (known && known.isSplat())
    chosen = known.getSplatValue<bool>() ? getOnTrue() : getOnFalse();
  return chosen && chosen.getType() == getType() ? chosen : OpFoldResult();
}

LogicalResult SelectOp::buildVjp(OpBuilder &builder, ValueRange cotangents, ArrayRef<bool> wanted,
                                 MutableArrayRef<Value> operandCotangents) {
  Value dy = cotangents[0];
  Value zero = scalarConstant(builder, getLoc(), elementTypeOf(dy), 0);
  if (wanted[1])
    operandCotangents[1] =
        sumToType(builder, getLoc(), SelectOp::create(builder, getLoc(), getCondition(), dy, zero),
                  tensorTypeOf(getOnTrue()));
  if (wanted[2])
    operandCotangents[2] =
        sumToType(builder, getLoc(), SelectOp::create(builder, getLoc(), getCondition(), zero, dy),
                  tensorTypeOf(getOnFalse()));
  return success();
}
