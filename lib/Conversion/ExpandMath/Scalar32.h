// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Formulas on float32 scalars, written as such: each operator makes one arith op without fast-math
// flags. Where a product may join a sum unrounded, the formula says so.
#ifndef MPC_LIB_CONVERSION_EXPANDMATH_SCALAR32_H
#define MPC_LIB_CONVERSION_EXPANDMATH_SCALAR32_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"

namespace mpc {

/// Where ops are made.
struct Site {
  mlir::OpBuilder &builder;
  mlir::Location loc;
};

/// An i32.
struct Int32 {
  const Site *site;
  mlir::Value value;

  Int32(const Site &site, mlir::Value value) : site(&site), value(value) {}
  Int32(const Site &site, int64_t constant)
      : site(&site), value(mlir::arith::ConstantOp::create(
                         site.builder, site.loc,
                         site.builder.getIntegerAttr(site.builder.getI32Type(),
                                                     llvm::APInt(32, uint64_t(constant), false,
                                                                 /*implicitTrunc=*/true)))) {}
  template <typename Op> Int32 with(Int32 other) const {
    return {*site, Op::create(site->builder, site->loc, value, other.value)};
  }
  Int32 operator+(Int32 other) const { return with<mlir::arith::AddIOp>(other); }
  Int32 operator-(Int32 other) const { return with<mlir::arith::SubIOp>(other); }
  Int32 operator&(Int32 other) const { return with<mlir::arith::AndIOp>(other); }
  Int32 operator|(Int32 other) const { return with<mlir::arith::OrIOp>(other); }
  Int32 operator+(int64_t constant) const { return *this + Int32(*site, constant); }
  Int32 operator-(int64_t constant) const { return *this - Int32(*site, constant); }
  Int32 operator&(int64_t constant) const { return *this & Int32(*site, constant); }
  Int32 shiftLeft(int bits) const { return with<mlir::arith::ShLIOp>({*site, bits}); }
  /// Rounds to minus infinity.
  Int32 shiftRight(int bits) const { return with<mlir::arith::ShRSIOp>({*site, bits}); }
  Int32 atMost(int64_t limit) const { return with<mlir::arith::MinSIOp>({*site, limit}); }
};

/// An f32.
struct Float32 {
  const Site *site;
  mlir::Value value;

  Float32(const Site &site, mlir::Value value) : site(&site), value(value) {}
  Float32(const Site &site, float constant)
      : site(&site),
        value(mlir::arith::ConstantOp::create(
            site.builder, site.loc,
            site.builder.getFloatAttr(site.builder.getF32Type(), llvm::APFloat(constant)))) {}
  template <typename Op> Float32 with(Float32 other) const {
    return {*site, Op::create(site->builder, site->loc, value, other.value)};
  }
  Float32 operator+(Float32 other) const { return with<mlir::arith::AddFOp>(other); }
  Float32 operator-(Float32 other) const { return with<mlir::arith::SubFOp>(other); }
  Float32 operator*(Float32 other) const { return with<mlir::arith::MulFOp>(other); }
  Float32 operator/(Float32 other) const { return with<mlir::arith::DivFOp>(other); }
  Float32 operator+(float constant) const { return *this + Float32(*site, constant); }
  Float32 operator-(float constant) const { return *this - Float32(*site, constant); }
  Float32 operator*(float constant) const { return *this * Float32(*site, constant); }
  Float32 operator-() const {
    return {*site, mlir::arith::NegFOp::create(site->builder, site->loc, value)};
  }
  Float32 abs() const {
    return {*site, mlir::math::AbsFOp::create(site->builder, site->loc, value)};
  }

  /// i1; false for NaN with an ordered predicate, true with an unordered one.
  mlir::Value compare(mlir::arith::CmpFPredicate predicate, float constant) const {
    return mlir::arith::CmpFOp::create(site->builder, site->loc, predicate, value,
                                       Float32(*site, constant).value);
  }
  /// The limits; NaN stays NaN.
  Float32 atMost(float limit) const {
    return when(compare(mlir::arith::CmpFPredicate::OGT, limit), {*site, limit});
  }
  Float32 atLeast(float limit) const {
    return when(compare(mlir::arith::CmpFPredicate::OLT, limit), {*site, limit});
  }
  /// `other` where the condition holds, this elsewhere.
  Float32 when(mlir::Value condition, Float32 other) const {
    return {*site,
            mlir::arith::SelectOp::create(site->builder, site->loc, condition, other.value, value)};
  }
  Int32 bits() const {
    return {*site, mlir::arith::BitcastOp::create(site->builder, site->loc,
                                                  site->builder.getI32Type(), value)};
  }
};

inline Float32 fromBits(Int32 bits) {
  const Site &site = *bits.site;
  return {site, mlir::arith::BitcastOp::create(site.builder, site.loc, site.builder.getF32Type(),
                                               bits.value)};
}

inline Float32 toFloat(Int32 integer) {
  const Site &site = *integer.site;
  return {site, mlir::arith::SIToFPOp::create(site.builder, site.loc, site.builder.getF32Type(),
                                              integer.value)};
}

/// A non-negative number gets the sign of `other`.
inline Float32 withSignOf(Float32 magnitude, Float32 other) {
  return fromBits(magnitude.bits() | (other.bits() & 0x80000000));
}

/// -|x|
inline Float32 negativeMagnitude(Float32 x) {
  return fromBits(x.bits() | Int32(*x.site, 0x80000000));
}

/// x y + z. Rounded once where the CPU has an instruction for it (x86-64-v3 and later), else twice.
/// As one op, unlike a product and a sum that may be contracted, it comes out alike whatever else
/// reads the product.
inline Float32 multiplyAdd(Float32 x, Float32 y, Float32 z) {
  const Site &site = *x.site;
  return {site, mlir::LLVM::FMulAddOp::create(site.builder, site.loc, x.value, y.value, z.value)};
}
inline Float32 multiplyAdd(Float32 x, float y, Float32 z) {
  return multiplyAdd(x, Float32(*x.site, y), z);
}

/// Horner's scheme, lowest power first.
inline Float32 horner(Float32 x, llvm::ArrayRef<float> coefficients) {
  Float32 sum(*x.site, coefficients.back());
  for (float coefficient : llvm::reverse(coefficients.drop_back()))
    sum = multiplyAdd(sum, x, {*x.site, coefficient});
  return sum;
}

/// Lowest power first. Even and odd powers apart, in Horner's schemes of x^2: half as many steps
/// wait for each other, which is what loops of functions spend their time on.
inline Float32 polynomial(Float32 x, llvm::ArrayRef<float> coefficients) {
  llvm::SmallVector<float> even, odd;
  for (auto [power, coefficient] : llvm::enumerate(coefficients))
    (power % 2 ? odd : even).push_back(coefficient);
  Float32 square = x * x;
  return multiplyAdd(x, horner(square, odd), horner(square, even));
}

} // namespace mpc

#endif
