// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Comparisons, truth values and bits.
#include "lib/Import/ONNX/NodeBuilder.h"
#include "lib/Import/ONNX/OpTable.h"
#include "lib/Import/ONNX/Ops/Arithmetic.h"

namespace mpc::onnx {
namespace {

using mlir::Value;
using B = NodeBuilder;

template <ComparePredicate predicate> void compare(B &b) {
  if (auto pair = getPair(b))
    b.setResult(0, b.makeCompare(predicate, pair->first, pair->second));
}

void logicalAnd(B &b) {
  if (auto pair = getPair(b))
    b.setResult(0, b.make<LogicalAndOp>(pair->first, pair->second));
}
void logicalOr(B &b) {
  if (auto pair = getPair(b))
    b.setResult(0, b.makeOr(pair->first, pair->second));
}
void logicalXor(B &b) {
  if (auto pair = getPair(b))
    b.setResult(0, b.makeCompare(ComparePredicate::NE, pair->first, pair->second));
}
void logicalNot(B &b) {
  if (Value x = b.get(0))
    b.setResult(0, elementTypeOf(x).isInteger(1) ? b.makeNot(x) : b.error("takes truth values"));
}

template <IntegerKind kind> void bitwise(B &b) {
  auto pair = getPair(b);
  if (!pair)
    return;
  if (b.isFloat(pair->first) || elementTypeOf(pair->first).isInteger(1))
    return (void)b.error("takes integers");
  b.setResult(0, b.make<IntegerOp>(kind, pair->first, pair->second));
}

void bitwiseNot(B &b) {
  Value x = b.get(0);
  if (!x)
    return;
  if (b.isFloat(x))
    return (void)b.error("takes integers");
  b.setResult(0, b.make<IntegerOp>(IntegerKind::Xor, x, b.makeInteger(elementTypeOf(x), -1)));
}

/// Shifts by the width and more, and by negative numbers, leave what the sign extends to.
void bitShift(B &b) {
  auto pair = getPair(b);
  if (!pair)
    return;
  auto [x, y] = *pair;
  const mlir::Type type = elementTypeOf(x);
  const llvm::StringRef direction = b.attributes.getText("direction");
  if (b.isFloat(x) || type.isInteger(1))
    return (void)b.error("takes integers");
  if (direction != "LEFT" && direction != "RIGHT")
    return (void)b.error("the direction must be LEFT or RIGHT");
  Value shifted = b.make<IntegerOp>(
      direction == "LEFT" ? IntegerKind::ShiftLeft : IntegerKind::ShiftRight, x, y);
  Value width = b.makeInteger(type, type.getIntOrFloatBitWidth()), zero = b.makeZero(type);
  Value isInside = b.makeCompare(ComparePredicate::LT, y, width), rest = zero;
  if (!type.isUnsignedInteger()) {
    isInside = b.make<LogicalAndOp>(isInside, b.makeCompare(ComparePredicate::GE, y, zero));
    if (direction == "RIGHT")
      rest = b.makeSelect(ComparePredicate::LT, x, zero, b.makeInteger(type, -1), zero);
  }
  b.setResult(0, b.makeSelect(isInside, shifted, rest));
}

void isNaN(B &b) {
  if (Value x = b.get(0))
    b.setResult(0, b.makeCompare(ComparePredicate::NE, x, x));
}

/// Infinities of either sign, or of those that the attributes ask for.
void isInf(B &b) {
  Value x = b.get(0);
  if (!x)
    return;
  const bool positive = b.attributes.getFlag("detect_positive", true),
             negative = b.attributes.getFlag("detect_negative", true);
  Value isNumber = b.makeCompare(ComparePredicate::EQ, x, x), zero = b.makeConstant(0.0);
  Value result = b.make<LogicalAndOp>(isNumber, b.makeNot(b.make<IsFiniteOp>(x)));
  if (!positive)
    result = b.make<LogicalAndOp>(result, b.makeCompare(ComparePredicate::LT, x, zero));
  if (!negative)
    result = b.make<LogicalAndOp>(result, b.makeCompare(ComparePredicate::GT, x, zero));
  b.setResult(0, result);
}

void where(B &b) {
  Value condition = b.get(0), x = b.get(1), y = b.get(2);
  if (!condition || !x || !y || !b.checkBroadcast({condition, x, y}))
    return;
  if (elementTypeOf(x) != elementTypeOf(y) || !elementTypeOf(condition).isInteger(1))
    return (void)b.error("takes truth values and two tensors of one type");
  b.setResult(0, b.makeSelect(condition, x, y), b.getType(1));
}

constexpr OpEntry kTable[] = {
    {"And", 1, logicalAnd, nullptr, OpenBatch::anywhere},
    {"BitShift", 11, bitShift, nullptr, OpenBatch::anywhere},
    {"BitwiseAnd", 18, bitwise<IntegerKind::And>, nullptr, OpenBatch::anywhere},
    {"BitwiseNot", 18, bitwiseNot, nullptr, OpenBatch::anywhere},
    {"BitwiseOr", 18, bitwise<IntegerKind::Or>, nullptr, OpenBatch::anywhere},
    {"BitwiseXor", 18, bitwise<IntegerKind::Xor>, nullptr, OpenBatch::anywhere},
    {"Equal", 1, compare<ComparePredicate::EQ>, nullptr, OpenBatch::anywhere},
    {"Greater", 1, compare<ComparePredicate::GT>, nullptr, OpenBatch::anywhere},
    {"GreaterOrEqual", 12, compare<ComparePredicate::GE>, nullptr, OpenBatch::anywhere},
    {"IsInf", 10, isInf, nullptr, OpenBatch::anywhere},
    {"IsNaN", 9, isNaN, nullptr, OpenBatch::anywhere},
    {"Less", 1, compare<ComparePredicate::LT>, nullptr, OpenBatch::anywhere},
    {"LessOrEqual", 12, compare<ComparePredicate::LE>, nullptr, OpenBatch::anywhere},
    {"Not", 1, logicalNot, nullptr, OpenBatch::anywhere},
    {"Or", 1, logicalOr, nullptr, OpenBatch::anywhere},
    {"Where", 9, where, nullptr, OpenBatch::moved},
    {"Xor", 1, logicalXor, nullptr, OpenBatch::anywhere},
};

} // namespace

llvm::ArrayRef<OpEntry> getLogicOps() { return kTable; }

} // namespace mpc::onnx
