// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Bits and quotients of integers: scalar code and reference value.
#include "dialects/mpc/IR/Mpc.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include <cmath>

using namespace mlir;
using namespace mpc;

namespace {
/// Scalar code of one op; the scalars are signless, `isUnsigned` says what they mean.
struct IntegerCode {
  OpBuilder &builder;
  Location loc;
  bool isUnsigned;

  template <typename Op, typename... Arguments> Value make(Arguments &&...arguments) {
    return Op::create(builder, loc, std::forward<Arguments>(arguments)...);
  }
  Value constant(Type type, int64_t value) {
    return make<arith::ConstantOp>(builder.getIntegerAttr(type, value));
  }
  Value compare(arith::CmpIPredicate predicate, Value a, Value b) {
    return make<arith::CmpIOp>(predicate, a, b);
  }

  /// The number of a shift within the width, beyond which a machine's shift has no meaning.
  Value limitShift(Value shift) {
    Type type = shift.getType();
    Value most = constant(type, type.getIntOrFloatBitWidth() - 1);
    if (isUnsigned)
      return make<arith::MinUIOp>(shift, most);
    return make<arith::MaxSIOp>(make<arith::MinSIOp>(shift, most), constant(type, 0));
  }

  /// Neither a divisor of 0 nor the least number by -1 reaches the machine, which would trap.
  Value divide(Value a, Value b, bool wantsRemainder) {
    Type type = a.getType();
    Value zero = constant(type, 0), one = constant(type, 1);
    Value isZero = compare(arith::CmpIPredicate::eq, b, zero), unusual = isZero, negates;
    if (!isUnsigned) {
      negates = compare(arith::CmpIPredicate::eq, b, constant(type, -1));
      unusual = make<arith::OrIOp>(isZero, negates);
    }
    Value safe = make<arith::SelectOp>(unusual, one, b);
    Value quotient = isUnsigned ? make<arith::DivUIOp>(a, safe) : make<arith::DivSIOp>(a, safe);
    Value rest = isUnsigned ? make<arith::RemUIOp>(a, safe) : make<arith::RemSIOp>(a, safe);
    if (!isUnsigned) {
      Value differs = compare(arith::CmpIPredicate::slt, make<arith::XOrIOp>(rest, b), zero);
      Value below = make<arith::AndIOp>(compare(arith::CmpIPredicate::ne, rest, zero), differs);
      quotient = make<arith::SelectOp>(below, make<arith::SubIOp>(quotient, one), quotient);
      quotient = make<arith::SelectOp>(negates, make<arith::SubIOp>(zero, a), quotient);
      rest = make<arith::SelectOp>(below, make<arith::AddIOp>(rest, b), rest);
    }
    return make<arith::SelectOp>(isZero, zero, wantsRemainder ? rest : quotient);
  }
};
} // namespace

Value IntegerOp::buildScalar(OpBuilder &builder, ValueRange scalars) {
  Type declared = elementTypeOf(getResult());
  IntegerCode code{builder, getLoc(), declared.isUnsignedInteger() || declared.isInteger(1)};
  Value a = scalars[0], b = scalars[1];
  switch (getKind()) {
  case IntegerKind::And:
    return code.make<arith::AndIOp>(a, b);
  case IntegerKind::Or:
    return code.make<arith::OrIOp>(a, b);
  case IntegerKind::Xor:
    return code.make<arith::XOrIOp>(a, b);
  case IntegerKind::ShiftLeft:
    return code.make<arith::ShLIOp>(a, code.limitShift(b));
  case IntegerKind::ShiftRight:
    return code.isUnsigned ? code.make<arith::ShRUIOp>(a, code.limitShift(b))
                           : code.make<arith::ShRSIOp>(a, code.limitShift(b));
  case IntegerKind::FloorDivide:
    return code.divide(a, b, /*wantsRemainder=*/false);
  case IntegerKind::Modulo:
    return code.divide(a, b, /*wantsRemainder=*/true);
  }
  llvm_unreachable("enumerated");
}

/// The quotient rounded towards negative infinity, or the remainder that it leaves.
static llvm::APSInt divideIntegers(const llvm::APSInt &a, const llvm::APSInt &b,
                                   bool wantsRemainder) {
  if (b.isZero())
    return llvm::APSInt(a.getBitWidth(), a.isUnsigned());
  // A bit more, in which the least number has a negative.
  const unsigned width = a.getBitWidth() + 1;
  llvm::APSInt dividend(a.extend(width), false), divisor(b.extend(width), false);
  llvm::APSInt quotient = dividend / divisor, rest = dividend % divisor;
  if (!rest.isZero() && rest.isNegative() != divisor.isNegative()) {
    --quotient;
    rest += divisor;
  }
  return llvm::APSInt((wantsRemainder ? rest : quotient).trunc(a.getBitWidth()), a.isUnsigned());
}

llvm::APSInt IntegerOp::evaluateIntegers(ArrayRef<llvm::APSInt> scalars) {
  const llvm::APSInt &a = scalars[0], &b = scalars[1];
  const unsigned most = a.getBitWidth() - 1;
  const unsigned shift = b.isNegative() ? 0 : unsigned(b.getLimitedValue(most));
  switch (getKind()) {
  case IntegerKind::And:
    return a & b;
  case IntegerKind::Or:
    return a | b;
  case IntegerKind::Xor:
    return a ^ b;
  case IntegerKind::ShiftLeft:
    return a << shift;
  case IntegerKind::ShiftRight:
    return a >> shift;
  case IntegerKind::FloorDivide:
    return divideIntegers(a, b, /*wantsRemainder=*/false);
  case IntegerKind::Modulo:
    return divideIntegers(a, b, /*wantsRemainder=*/true);
  }
  llvm_unreachable("enumerated");
}

double IntegerOp::evaluateScalar(ArrayRef<double>) { llvm_unreachable("has no floating operand"); }

LogicalResult IntegerOp::buildVjp(OpBuilder &, ValueRange, ArrayRef<bool>, MutableArrayRef<Value>) {
  return success();
}
