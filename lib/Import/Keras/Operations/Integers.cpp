// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Operations of keras.ops on integers alone: divisors, multiples, digits.
#include "lib/Import/Keras/Operations/OperationBuilder.h"

#include <cmath>

namespace mpc::keras {
namespace {

using mlir::Value;
using B = OperationBuilder;

/// Two integers of one type, of shapes that broadcast; null values after an error.
std::pair<Value, Value> getIntegerPair(B &b) {
  auto [x, y] = b.getPair();
  if (!x)
    return {};
  if (x.isFloat() || elementTypeOf(x.value).isInteger(1)) {
    b.error("'" + b.layer.className + "' takes integers");
    return {};
  }
  return {x.value, y.value};
}

/// The size, which the least number does not have: that stays.
Value sizeOf(B &b, Value x) {
  if (elementTypeOf(x).isUnsignedInteger())
    return x;
  Value zero = b.makeZero(elementTypeOf(x));
  Value negative = b.makeCompare(ComparePredicate::LT, x, zero);
  return b.makeSelect(negative, b.make<SubtractOp>(zero, x), x);
}

/// Euclid's algorithm with as many steps as the largest numbers of the type take, which are
/// Fibonacci's: each step makes the product of both less than 1 / phi^2 of what it was.
Value divideCommonly(B &b, Value x, Value y) {
  const mlir::Type type = elementTypeOf(x);
  const int64_t steps =
      int64_t(std::ceil(type.getIntOrFloatBitWidth() * std::log(2.0) / std::log(1.618))) + 1;
  Value zero = b.makeZero(type), one = b.makeScalar(type, 1);
  for (int64_t step = 0; step < steps; ++step) {
    Value isDone = b.makeCompare(ComparePredicate::EQ, y, zero);
    Value rest = b.make<IntegerOp>(IntegerKind::Modulo, x, b.makeSelect(isDone, one, y));
    Value divisor = b.makeSelect(isDone, x, y);
    y = b.makeSelect(isDone, y, rest);
    x = divisor;
  }
  return x;
}

Value greatestCommonDivisor(B &b) {
  auto [x, y] = getIntegerPair(b);
  return x ? divideCommonly(b, sizeOf(b, x), sizeOf(b, y)) : Value();
}

Value leastCommonMultiple(B &b) {
  auto [first, second] = getIntegerPair(b);
  if (!first)
    return {};
  Value x = sizeOf(b, first), y = sizeOf(b, second), divisor = divideCommonly(b, x, y);
  Value zero = b.makeZero(elementTypeOf(x));
  Value isZero = b.makeCompare(ComparePredicate::EQ, divisor, zero);
  Value safe = b.makeSelect(isZero, b.makeScalar(elementTypeOf(x), 1), divisor);
  Value multiple = b.make<MultiplyOp>(x, b.make<IntegerOp>(IntegerKind::FloorDivide, y, safe));
  return b.makeSelect(isZero, zero, multiple);
}

/// Coordinates of places in a tensor of that shape. Of more than one number per sample Keras 3.15
/// divides by the first extent first (keras/src/backend/tensorflow/numpy.py, unravel_index).
Value findCoordinates(B &b) {
  Operand indices = b.getOperand(0, "indices");
  std::optional<llvm::SmallVector<int64_t>> shape = b.getIntegers(kKeywordOnly, "shape");
  if (!indices || b.hasFailed())
    return {};
  if (indices.isFloat() || elementTypeOf(indices.value).isInteger(1))
    return b.error("'UnravelIndex' takes integers");
  if (!shape || shape->empty() || shape->size() > 16 ||
      llvm::any_of(*shape, [](int64_t n) { return n < 1 || n > INT32_MAX; }))
    return b.error("'shape' of 'UnravelIndex' must be up to 16 positive integers");
  const unsigned width = elementTypeOf(indices.value).getIntOrFloatBitWidth();
  const bool isVector = b.rankOf(indices.value) == 1;
  llvm::SmallVector<Value> coordinates;
  Value rest = indices.value;
  for (size_t step = 0; step < shape->size(); ++step) {
    const int64_t extent = isVector ? (*shape)[shape->size() - 1 - step] : (*shape)[step];
    if (width < 32 && extent >= int64_t(1) << (width - 1))
      return b.error("'shape' of 'UnravelIndex' has extents beyond the type of the indices");
    Value divisor = b.makeScalar(elementTypeOf(rest), double(extent));
    coordinates.push_back(b.make<IntegerOp>(IntegerKind::Modulo, rest, divisor));
    rest = b.make<IntegerOp>(IntegerKind::FloorDivide, rest, divisor);
  }
  std::reverse(coordinates.begin(), coordinates.end());
  for (Value further : llvm::ArrayRef(coordinates).drop_front())
    b.addResult(further);
  return coordinates.front();
}

constexpr OperationEntry kIntegerOperations[] = {
    {"Gcd", greatestCommonDivisor},
    {"Lcm", leastCommonMultiple},
    {"UnravelIndex", findCoordinates},
};

} // namespace

llvm::ArrayRef<OperationEntry> integerOperations() { return kIntegerOperations; }

} // namespace mpc::keras
