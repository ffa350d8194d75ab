// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Windows.h"
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

/// floor(place * extent / places) and ceil((place + 1) * extent / places).
static Value adaptiveBegin(IndexMath &math, const PoolAxis &axis, Value place) {
  return math.divide(math.multiply(place, axis.extent), axis.places);
}
static Value adaptiveEnd(IndexMath &math, const PoolAxis &axis, Value place) {
  Value scaled = math.multiply(math.add(place, 1), axis.extent);
  return math.divide(math.add(scaled, axis.places - 1), axis.places);
}

/// Whether no window of a strided pool lies inside the input as a whole: then fewer taps than the
/// window has elements do.
static bool isClippedEverywhere(const PoolAxis &axis) {
  return !axis.isAdaptive() && axis.mostElements() < axis.window;
}

/// Taps count from the first element that is there.
static GuardedIndex elementOfClippedWindow(IndexMath &math, const PoolAxis &axis, Value place,
                                           Value tap) {
  Value begin = math.add(math.multiply(place, axis.stride), -axis.low);
  Value index = math.add(math.clamp(begin, 0, axis.extent), tap);
  Value end = math.clamp(math.add(begin, axis.window), 0, axis.extent);
  return {math.clamp(index, 0, axis.extent - 1), math.isBelow(index, end)};
}

GuardedIndex mpc::elementOfWindow(IndexMath &math, const PoolAxis &axis, Value place, int64_t tap) {
  if (axis.isAdaptive()) {
    Value index = math.add(adaptiveBegin(math, axis, place), tap);
    bool always = true;
    for (int64_t p = 0; p < axis.places; ++p)
      always &= axis.begin(p) + tap < axis.end(p);
    if (always)
      return {index, Value()};
    return {math.clamp(index, 0, axis.extent - 1),
            math.isBelow(index, adaptiveEnd(math, axis, place))};
  }
  if (isClippedEverywhere(axis))
    return elementOfClippedWindow(math, axis, place, math.constant(tap));
  Value index = math.add(math.multiply(place, axis.stride), tap - axis.low);
  Value counts;
  if (tap < axis.low)
    counts = math.isAtLeast(index, math.constant(0));
  if ((axis.places - 1) * axis.stride - axis.low + tap >= axis.extent)
    counts = math.both(counts, math.isBelow(index, math.constant(axis.extent)));
  return {counts ? math.clamp(index, 0, axis.extent - 1) : index, counts};
}

GuardedIndex mpc::elementOfWindow(IndexMath &math, const PoolAxis &axis, Value place, Value tap) {
  if (axis.isAdaptive()) {
    Value index = math.add(adaptiveBegin(math, axis, place), tap);
    return {math.clamp(index, 0, axis.extent - 1),
            math.isBelow(index, adaptiveEnd(math, axis, place))};
  }
  if (isClippedEverywhere(axis))
    return elementOfClippedWindow(math, axis, place, tap);
  Value index = math.add(math.add(math.multiply(place, axis.stride), -axis.low), tap);
  Value counts = math.both(math.isAtLeast(index, math.constant(0)),
                           math.isBelow(index, math.constant(axis.extent)));
  return {math.clamp(index, 0, axis.extent - 1), counts};
}

GuardedIndex mpc::windowOfElement(IndexMath &math, const PoolAxis &axis, Value element,
                                  Value candidate) {
  Value counts;
  if (axis.isAdaptive()) {
    // The first window that ends behind the element, and those after it that have begun.
    Value place =
        math.add(math.divide(math.multiply(element, axis.places), axis.extent), candidate);
    Value clamped = math.clamp(place, 0, axis.places - 1);
    counts = math.isBelow(place, math.constant(axis.places));
    counts = math.both(counts, math.isAtLeast(element, adaptiveBegin(math, axis, clamped)));
    return {clamped, counts};
  }
  // The last window that has begun, and those before it that have not ended.
  Value last = math.divide(math.add(element, axis.low), axis.stride);
  if ((axis.extent - 1 + axis.low) / axis.stride >= axis.places)
    last = math.clamp(last, 0, axis.places - 1);
  Value place = math.subtract(last, candidate);
  Value clamped = math.clamp(place, 0, axis.places - 1);
  counts = math.isAtLeast(place, math.constant(0));
  counts = math.both(counts, math.isBelow(place, math.constant(axis.places)));
  Value end = math.add(math.multiply(clamped, axis.stride), axis.window - axis.low);
  return {clamped, math.both(counts, math.isBelow(element, end))};
}

Value mpc::countElements(IndexMath &math, const PoolAxis &axis, Value place) {
  int64_t count = axis.end(0) - axis.begin(0);
  bool equal = true;
  for (int64_t p = 1; p < axis.places; ++p)
    equal &= axis.end(p) - axis.begin(p) == count;
  if (equal)
    return math.constant(count);
  if (axis.isAdaptive())
    return math.subtract(adaptiveEnd(math, axis, place), adaptiveBegin(math, axis, place));
  Value begin = math.add(math.multiply(place, axis.stride), -axis.low);
  Value end = math.clamp(math.add(begin, axis.window), 0, axis.extent);
  return math.subtract(end, math.clamp(begin, 0, axis.extent));
}
