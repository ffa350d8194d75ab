// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Import/ONNX/Ops/Casts.h"

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

static Value castTo(NodeBuilder &b, Value x, mlir::Type element) {
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

Value convert(NodeBuilder &b, Value x, DataType from, DataType to, bool saturate) {
  const mlir::Type element = nominalType(b.builder, to);
  if (!element)
    return b.error("casts to " + spell(to) + " are not supported");
  if (from == to)
    return x;
  const bool toFloat = isFloating(to);
  if (!isFloating(from) && toFloat)
    b.setComputeType(to);
  if (toFloat && !isDialectFloat(to))
    return b.error("casts to " + spell(to) + " are not supported");
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
