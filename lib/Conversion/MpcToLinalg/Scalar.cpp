// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Scalar arithmetic inside lowered ops.
#include "lib/Conversion/MpcToLinalg/Scalar.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

Type mpc::signless(Type elementType) {
  if (auto integer = dyn_cast<IntegerType>(elementType); integer && !integer.isSignless())
    return IntegerType::get(elementType.getContext(), integer.getWidth());
  return elementType;
}

Value mpc::widen(OpBuilder &builder, Location loc, Value scalar) {
  if (!scalar.getType().isF16() && !scalar.getType().isBF16())
    return scalar;
  return arith::ExtFOp::create(builder, loc, builder.getF32Type(), scalar);
}

/// The value of `type` that `scalar` was extended from, if it was.
static Value extendedFrom(Value scalar, Type type) {
  auto extension = scalar.getDefiningOp<arith::ExtFOp>();
  return extension && extension.getIn().getType() == type ? extension.getIn() : Value();
}

/// float64 to float32, to the neighbour with an odd significand when inexact. Rounding that to 16
/// bits equals rounding the float64 to 16 bits at once (Boldo and Melquiond, "When double rounding
/// is odd", 2005); code generators round twice.
static Value doubleToOddFloat(OpBuilder &builder, Location loc, Value scalar) {
  using P = arith::CmpFPredicate;
  Type f32 = builder.getF32Type(), i32 = builder.getI32Type();
  Value nearest = arith::TruncFOp::create(builder, loc, f32, scalar);
  Value back = arith::ExtFOp::create(builder, loc, scalar.getType(), nearest);
  Value inexact = arith::CmpFOp::create(builder, loc, P::ONE, back, scalar);
  Value bits = arith::BitcastOp::create(builder, loc, i32, nearest);
  Value one = arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(1));
  Value minusOne = arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(-1));
  Value zero = arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(0));
  Value lowBit = arith::AndIOp::create(builder, loc, bits, one);
  Value even = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, lowBit, zero);
  Value wrong = arith::AndIOp::create(builder, loc, inexact, even);
  // Bit patterns grow with the magnitude.
  Value grown =
      arith::CmpFOp::create(builder, loc, P::OGT, math::AbsFOp::create(builder, loc, back),
                            math::AbsFOp::create(builder, loc, scalar));
  Value step = arith::SelectOp::create(builder, loc, grown, minusOne, one);
  Value odd = arith::AddIOp::create(builder, loc, bits, step);
  Value chosen = arith::SelectOp::create(builder, loc, wrong, odd, bits);
  return arith::BitcastOp::create(builder, loc, f32, chosen);
}

Value mpc::roundTo(OpBuilder &builder, Location loc, Value scalar, Type type) {
  if (scalar.getType() == type)
    return scalar;
  if (Value narrow = extendedFrom(scalar, type))
    return narrow;
  if (auto constant = scalar.getDefiningOp<arith::ConstantOp>()) {
    llvm::APFloat value = cast<FloatAttr>(constant.getValue()).getValue();
    bool lossy;
    value.convert(cast<FloatType>(type).getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven,
                  &lossy);
    return arith::ConstantOp::create(builder, loc, FloatAttr::get(type, value));
  }
  if (auto select = scalar.getDefiningOp<arith::SelectOp>()) {
    auto isLeaf = [&](Value v) {
      return extendedFrom(v, type) || v.getDefiningOp<arith::ConstantOp>();
    };
    if (isLeaf(select.getTrueValue()) && isLeaf(select.getFalseValue()))
      return arith::SelectOp::create(builder, loc, select.getCondition(),
                                     roundTo(builder, loc, select.getTrueValue(), type),
                                     roundTo(builder, loc, select.getFalseValue(), type));
  }
  if (scalar.getType().isF64() && type.getIntOrFloatBitWidth() == 16)
    scalar = doubleToOddFloat(builder, loc, scalar);
  return arith::TruncFOp::create(builder, loc, type, scalar);
}

Value mpc::scalarOf(OpBuilder &builder, Location loc, Type type, double value) {
  if (isa<FloatType>(type))
    return arith::ConstantOp::create(builder, loc, builder.getFloatAttr(type, value));
  return arith::ConstantOp::create(builder, loc, builder.getIntegerAttr(type, int64_t(value)));
}

Value mpc::scalarOf(OpBuilder &builder, Location loc, Attribute element) {
  if (auto integer = dyn_cast<IntegerAttr>(element))
    element = IntegerAttr::get(signless(integer.getType()), integer.getValue());
  return arith::ConstantOp::create(builder, loc, cast<TypedAttr>(element));
}

/// Clears the 11 low bits of an i64 and sets bit 11 if one of them was set. A double then holds the
/// number exactly, and rounding it to 11 significant bits or fewer gives what rounding the original
/// gives (round to odd: Boldo and Melquiond, "When double rounding is odd", 2005).
static Value roundToOdd(OpBuilder &builder, Location loc, Value integer, bool isUnsigned) {
  Type i64 = integer.getType();
  auto constant = [&](int64_t value) {
    return arith::ConstantOp::create(builder, loc, builder.getIntegerAttr(i64, value));
  };
  Value low = arith::AndIOp::create(builder, loc, integer, constant(0x7ff));
  Value lost = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, low, constant(0));
  Value sticky = arith::SelectOp::create(builder, loc, lost, constant(0x800), constant(0));
  Value high = arith::AndIOp::create(builder, loc, integer, constant(~int64_t(0x7ff)));
  Value odd = arith::OrIOp::create(builder, loc, high, sticky);
  // Small numbers are exact in a double, and their low bits matter.
  Value shifted = integer;
  if (!isUnsigned)
    shifted = arith::AddIOp::create(builder, loc, integer, constant(int64_t(1) << 53));
  Value isSmall = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, shifted,
                                        constant(int64_t(1) << (isUnsigned ? 53 : 54)));
  return arith::SelectOp::create(builder, loc, isSmall, integer, odd);
}

static Value integerToFloat(OpBuilder &builder, Location loc, Value scalar, bool isUnsigned,
                            Type to) {
  unsigned width = scalar.getType().getIntOrFloatBitWidth();
  // A type between that holds every (small) integer exactly, so that one rounding is left.
  Type through = to;
  if (to.isF16() || to.isBF16()) {
    through = width <= 16 ? Type(builder.getF32Type()) : Type(builder.getF64Type());
    if (width == 64)
      scalar = roundToOdd(builder, loc, scalar, isUnsigned);
  }
  Value value = isUnsigned ? Value(arith::UIToFPOp::create(builder, loc, through, scalar))
                           : Value(arith::SIToFPOp::create(builder, loc, through, scalar));
  return mpc::roundTo(builder, loc, value, to);
}

Value mpc::castScalar(OpBuilder &builder, Location loc, Value scalar, Type from, Type to) {
  if (from == to)
    return scalar;
  bool fromUnsigned = from.isUnsignedInteger() || from.isInteger(1);
  Type target = signless(to);
  if (to.isInteger(1)) {
    Value zero = scalarOf(builder, loc, scalar.getType(), 0);
    if (isa<FloatType>(from))
      return arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::UNE, scalar, zero);
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, scalar, zero);
  }
  if (isa<FloatType>(to)) {
    if (isa<IntegerType>(from))
      return integerToFloat(builder, loc, scalar, fromUnsigned, to);
    // float16 and bfloat16 have no common narrower form: through float32, which is exact.
    if (from.getIntOrFloatBitWidth() == to.getIntOrFloatBitWidth())
      scalar = widen(builder, loc, scalar);
    if (scalar.getType().getIntOrFloatBitWidth() < to.getIntOrFloatBitWidth())
      return arith::ExtFOp::create(builder, loc, to, scalar);
    return roundTo(builder, loc, scalar, to);
  }
  if (isa<FloatType>(from)) {
    scalar = widen(builder, loc, scalar);
    if (to.isUnsignedInteger())
      return arith::FPToUIOp::create(builder, loc, target, scalar);
    return arith::FPToSIOp::create(builder, loc, target, scalar);
  }
  unsigned before = scalar.getType().getIntOrFloatBitWidth(),
           after = target.getIntOrFloatBitWidth();
  if (after < before)
    return arith::TruncIOp::create(builder, loc, target, scalar);
  if (after == before)
    return scalar;
  if (fromUnsigned)
    return arith::ExtUIOp::create(builder, loc, target, scalar);
  return arith::ExtSIOp::create(builder, loc, target, scalar);
}
