// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Import/ONNX/Ops/Casts.h"

#include <cmath>
#include <limits>

namespace mpc::onnx {

using mlir::Value;

/// Types that have a floating type of their own in the dialect.
static bool isDialectFloat(DataType type) {
  return type == DataType::Float || type == DataType::Float16 || type == DataType::BFloat16 ||
         type == DataType::Double;
}

/// Bits of integers that lie in wider ones; 0 for others.
static unsigned packedBits(DataType type) {
  switch (type) {
  case DataType::Int4:
  case DataType::UInt4:
    return 4;
  case DataType::Int2:
  case DataType::UInt2:
    return 2;
  default:
    return 0;
  }
}

Value castTo(NodeBuilder &b, Value x, mlir::Type element) {
  return elementTypeOf(x) == element
             ? x
             : b.make<CastOp>(mlir::RankedTensorType::get(b.shapeOf(x), element), x);
}

/// The lowest bits of an 8-bit integer, with the sign of a signed type.
static Value wrap(NodeBuilder &b, Value x, unsigned bits) {
  const mlir::Type type = elementTypeOf(x);
  Value low = b.make<IntegerOp>(IntegerKind::And, x, b.makeInteger(type, (1 << bits) - 1));
  if (type.isUnsignedInteger())
    return low;
  Value sign = b.makeInteger(type, 1 << (bits - 1));
  return b.make<SubtractOp>(b.make<IntegerOp>(IntegerKind::Xor, low, sign), sign);
}

namespace {
/// A floating type of 8 or 4 bits, whose numbers are kept in float32.
struct SmallFloat {
  DataType type;
  int fraction;        ///< bits behind the leading one
  int lowest, highest; ///< exponents of normal numbers
  double largest;      ///< finite
  double beyond;       ///< what overflows without saturation
  bool hasNegativeZero;
};
} // namespace

static const SmallFloat *findSmallFloat(DataType type) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN(),
                   infinity = std::numeric_limits<double>::infinity();
  static constexpr SmallFloat formats[] = {
      {DataType::Float8E4M3FN, 3, -6, 8, 448.0, nan, true},
      {DataType::Float8E4M3FNUZ, 3, -7, 7, 240.0, nan, false},
      {DataType::Float8E5M2, 2, -14, 15, 57344.0, infinity, true},
      {DataType::Float8E5M2FNUZ, 2, -15, 15, 57344.0, nan, false},
      {DataType::Float4E2M1, 1, 0, 2, 6.0, 6.0, true},
  };
  for (const SmallFloat &format : formats)
    if (format.type == type)
      return &format;
  return nullptr;
}

/// To the nearest number of the format, ties to the even one. Each binade has a quantum: quotients
/// by powers of two are exact.
static Value roundToFormat(NodeBuilder &b, Value x, const SmallFloat &format, bool saturate) {
  Value wide = b.makeCastLike(x, x, /*wide=*/true), size = b.make<AbsOp>(wide);
  Value quantum = b.makeConstant(std::ldexp(1.0, format.lowest - format.fraction));
  for (int exponent = format.lowest + 1; exponent <= format.highest + 1; ++exponent)
    quantum = b.makeSelect(ComparePredicate::GE, size, b.makeConstant(std::ldexp(1.0, exponent)),
                           b.makeConstant(std::ldexp(1.0, exponent - format.fraction)), quantum);
  Value y = b.make<MultiplyOp>(b.make<RoundOp>(b.make<DivideOp>(size, quantum)), quantum);
  Value limit = b.makeConstant(saturate ? format.largest : format.beyond);
  y = b.makeSelect(ComparePredicate::GT, y, b.makeConstant(format.largest), limit, y);
  Value isNegative = b.makeCompare(ComparePredicate::LT, wide, b.makeConstant(0.0));
  if (format.hasNegativeZero) // a zero keeps its sign
    y = b.makeSelect(ComparePredicate::EQ, wide, b.makeConstant(0.0), wide, y);
  y = b.makeSelect(isNegative, b.make<NegateOp>(y), y);
  // The smallest format has no NaN, which becomes a zero as in ONNX's reference.
  Value nan = format.type == DataType::Float4E2M1 ? b.makeConstant(-0.0) : wide;
  y = b.makeSelect(ComparePredicate::EQ, wide, wide, y, nan);
  return b.makeCastTo(y, b.builder.getF32Type());
}

Value convert(NodeBuilder &b, Value x, DataType from, DataType to, bool saturate) {
  const mlir::Type element = nominalType(b.builder, to);
  if (!element)
    return b.error("casts to " + spell(to) + " are not supported");
  if (from == to)
    return x;
  const bool toFloat = isFloating(to);
  if (!isFloating(from) && toFloat)
    b.setComputeType(to);
  if (toFloat && !isDialectFloat(to)) {
    const SmallFloat *format = findSmallFloat(to);
    if (!format)
      return b.error("casts to " + spell(to) + " are not supported");
    return roundToFormat(b, b.isFloat(x) ? x : b.makeCastToFloat(x), *format, saturate);
  }
  if (!toFloat) {
    Value y = castTo(b, x, element);
    const unsigned bits = packedBits(to);
    return bits ? wrap(b, y, bits) : y;
  }
  if (!b.isFloat(x))
    return b.makeCastToFloat(x);
  // A policy of the option decides dtypes in place of the file's casts.
  if (!b.keepsTypes() || floatType(b.builder, from) == floatType(b.builder, to))
    return x;
  return b.makeCastTo(x, floatType(b.builder, to));
}

} // namespace mpc::onnx
