// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Conversion/MpcToLinalg/Windows.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mpc;

Value IndexMath::constant(int64_t value) {
  return arith::ConstantIndexOp::create(builder, loc, value);
}
Value IndexMath::add(Value a, Value b) { return arith::AddIOp::create(builder, loc, a, b); }
Value IndexMath::add(Value a, int64_t b) { return b == 0 ? a : add(a, constant(b)); }
Value IndexMath::subtract(Value a, Value b) { return arith::SubIOp::create(builder, loc, a, b); }
Value IndexMath::multiply(Value a, int64_t b) {
  return b == 1 ? a : Value(arith::MulIOp::create(builder, loc, a, constant(b)));
}
Value IndexMath::divide(Value a, int64_t b) {
  return b == 1 ? a : Value(arith::DivUIOp::create(builder, loc, a, constant(b)));
}
Value IndexMath::clamp(Value a, int64_t low, int64_t high) {
  a = arith::MaxSIOp::create(builder, loc, a, constant(low));
  return arith::MinSIOp::create(builder, loc, a, constant(high));
}
Value IndexMath::isAtLeast(Value a, Value b) {
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sge, a, b);
}
Value IndexMath::isBelow(Value a, Value b) {
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, a, b);
}
Value IndexMath::both(Value a, Value b) {
  if (!a || !b)
    return a ? a : b;
  return arith::AndIOp::create(builder, loc, a, b);
}

/// floor(output * extent / outputs) and ceil((output + 1) * extent / outputs).
static Value adaptiveBegin(IndexMath &math, const PoolAxis &axis, Value output) {
  return math.divide(math.multiply(output, axis.extent), axis.outputs);
}
static Value adaptiveEnd(IndexMath &math, const PoolAxis &axis, Value output) {
  Value scaled = math.multiply(math.add(output, 1), axis.extent);
  return math.divide(math.add(scaled, axis.outputs - 1), axis.outputs);
}

/// Whether no window of a strided pool lies inside the input as a whole: then fewer taps than the
/// window has elements do.
static bool isClippedEverywhere(const PoolAxis &axis) {
  return !axis.isAdaptive() && axis.mostElements() < axis.window;
}

/// Taps count from the first element that is there.
static GuardedIndex elementOfClippedWindow(IndexMath &math, const PoolAxis &axis, Value output,
                                           Value tap) {
  Value begin = math.add(math.multiply(output, axis.stride), -axis.low);
  Value index = math.add(math.clamp(begin, 0, axis.extent), tap);
  Value end = math.clamp(math.add(begin, axis.window), 0, axis.extent);
  return {math.clamp(index, 0, axis.extent - 1), math.isBelow(index, end)};
}

GuardedIndex mpc::elementOfWindow(IndexMath &math, const PoolAxis &axis, Value output,
                                  int64_t tap) {
  if (axis.isAdaptive()) {
    Value index = math.add(adaptiveBegin(math, axis, output), tap);
    bool always = true;
    for (int64_t p = 0; p < axis.outputs; ++p)
      always &= axis.begin(p) + tap < axis.end(p);
    if (always)
      return {index, Value()};
    return {math.clamp(index, 0, axis.extent - 1),
            math.isBelow(index, adaptiveEnd(math, axis, output))};
  }
  if (isClippedEverywhere(axis))
    return elementOfClippedWindow(math, axis, output, math.constant(tap));
  Value index = math.add(math.multiply(output, axis.stride), tap - axis.low);
  Value counts;
  if (tap < axis.low)
    counts = math.isAtLeast(index, math.constant(0));
  if ((axis.outputs - 1) * axis.stride - axis.low + tap >= axis.extent)
    counts = math.both(counts, math.isBelow(index, math.constant(axis.extent)));
  return {counts ? math.clamp(index, 0, axis.extent - 1) : index, counts};
}

GuardedIndex mpc::elementOfWindow(IndexMath &math, const PoolAxis &axis, Value output, Value tap) {
  if (axis.isAdaptive()) {
    Value index = math.add(adaptiveBegin(math, axis, output), tap);
    return {math.clamp(index, 0, axis.extent - 1),
            math.isBelow(index, adaptiveEnd(math, axis, output))};
  }
  if (isClippedEverywhere(axis))
    return elementOfClippedWindow(math, axis, output, tap);
  Value index = math.add(math.add(math.multiply(output, axis.stride), -axis.low), tap);
  Value counts = math.both(math.isAtLeast(index, math.constant(0)),
                           math.isBelow(index, math.constant(axis.extent)));
  return {math.clamp(index, 0, axis.extent - 1), counts};
}

GuardedIndex mpc::windowOfElement(IndexMath &math, const PoolAxis &axis, Value element,
                                  Value candidate) {
  Value counts;
  if (axis.isAdaptive()) {
    // The first window that ends behind the element, and those after it that have begun.
    Value output =
        math.add(math.divide(math.multiply(element, axis.outputs), axis.extent), candidate);
    Value clamped = math.clamp(output, 0, axis.outputs - 1);
    counts = math.isBelow(output, math.constant(axis.outputs));
    counts = math.both(counts, math.isAtLeast(element, adaptiveBegin(math, axis, clamped)));
    return {clamped, counts};
  }
  // The last window that has begun, and those before it that have not ended.
  Value last = math.divide(math.add(element, axis.low), axis.stride);
  if ((axis.extent - 1 + axis.low) / axis.stride >= axis.outputs)
    last = math.clamp(last, 0, axis.outputs - 1);
  Value output = math.subtract(last, candidate);
  Value clamped = math.clamp(output, 0, axis.outputs - 1);
  counts = math.isAtLeast(output, math.constant(0));
  counts = math.both(counts, math.isBelow(output, math.constant(axis.outputs)));
  Value end = math.add(math.multiply(clamped, axis.stride), axis.window - axis.low);
  return {clamped, math.both(counts, math.isBelow(element, end))};
}

Value mpc::countElements(IndexMath &math, const PoolAxis &axis, Value output) {
  int64_t count = axis.end(0) - axis.begin(0);
  bool equal = true;
  for (int64_t p = 1; p < axis.outputs; ++p)
    equal &= axis.end(p) - axis.begin(p) == count;
  if (equal)
    return math.constant(count);
  if (axis.isAdaptive())
    return math.subtract(adaptiveEnd(math, axis, output), adaptiveBegin(math, axis, output));
  Value begin = math.add(math.multiply(output, axis.stride), -axis.low);
  Value end = math.clamp(math.add(begin, axis.window), 0, axis.extent);
  return math.subtract(end, math.clamp(begin, 0, axis.extent));
}
