// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Ranges of arithmetic, comparisons and selections, element by element.
#include "lib/Numerics/Ranges/RangeModels.h"

using namespace mlir;
using namespace mpc;

/// Integers that leave their type wrap around: then nothing but the type is known.
static void setInteger(RangeArguments &arguments, Bound bound) {
  const Type type = arguments.typeOf(0);
  const Bound all = Bound::anyOf(type);
  // Beyond 2^53 doubles are no integers of their own.
  const bool fits =
      bound.low >= std::max(all.low, -0x1p53) && bound.high <= std::min(all.high, 0x1p53);
  arguments.setExact(0, fits ? bound : all);
}

static void set(RangeArguments &arguments, const Bound &bound) {
  if (isa<FloatType>(arguments.typeOf(0)))
    arguments.setRounded(0, bound);
  else
    setInteger(arguments, bound);
}

static Bound negated(const Bound &a) { return {-a.high, -a.low, a.mayBeNan, a.error, nullptr}; }

static Bound sum(const Bound &a, const Bound &b) {
  Bound result = {a.low + b.low, a.high + b.high, a.mayBeNan || b.mayBeNan, a.error + b.error,
                  nullptr};
  // inf - inf
  result.mayBeNan |= (a.high == kUnbounded && b.low == -kUnbounded) ||
                     (a.low == -kUnbounded && b.high == kUnbounded);
  result.widen();
  return result;
}

/// 0 for 0 * inf: the product of no finite numbers is beyond that.
static double product(double a, double b) { return a == 0 || b == 0 ? 0 : a * b; }

static Bound product(const Bound &a, const Bound &b) {
  const double corners[] = {product(a.low, b.low), product(a.low, b.high), product(a.high, b.low),
                            product(a.high, b.high)};
  Bound result;
  result.low = *std::min_element(std::begin(corners), std::end(corners));
  result.high = *std::max_element(std::begin(corners), std::end(corners));
  result.mayBeNan = a.mayBeNan || b.mayBeNan || (std::isinf(a.magnitude()) && b.contains(0)) ||
                    (std::isinf(b.magnitude()) && a.contains(0));
  result.error = product(a.magnitude(), b.error) + product(b.magnitude() + b.error, a.error);
  result.widen();
  return result;
}

static Bound square(const Bound &a) {
  Bound result = product(a, a);
  const double least = a.contains(0) ? 0 : std::min(std::abs(a.low), std::abs(a.high));
  result.low = std::max(0.0, std::nextafter(least * least, 0));
  result.mayBeNan = a.mayBeNan;
  return result;
}

static Bound quotient(const Bound &a, const Bound &b) {
  if (b.contains(0) || !std::isfinite(b.magnitude()))
    return {};
  const double corners[] = {a.low / b.low, a.low / b.high, a.high / b.low, a.high / b.high};
  Bound result;
  result.low = *std::min_element(std::begin(corners), std::end(corners));
  result.high = *std::max_element(std::begin(corners), std::end(corners));
  result.mayBeNan = a.mayBeNan || b.mayBeNan;
  const double least = std::min(std::abs(b.low), std::abs(b.high));
  // |a'/b' - a/b| <= (|a' - a| + |a/b| |b' - b|) / |b'|
  result.error =
      least > b.error
          ? (a.error + product((a.magnitude() + a.error) / (least - b.error), b.error)) / least
          : kUnbounded;
  result.widen();
  return result;
}

static void deriveAdd(AddOp, RangeArguments &arguments) {
  set(arguments, sum(arguments.in(0), arguments.in(1)));
}
static void deriveSubtract(SubtractOp, RangeArguments &arguments) {
  set(arguments, sum(arguments.in(0), negated(arguments.in(1))));
}
static void deriveMultiply(MultiplyOp op, RangeArguments &arguments) {
  set(arguments, op.getLhs() == op.getRhs() ? square(arguments.in(0))
                                            : product(arguments.in(0), arguments.in(1)));
}
static void deriveDivide(DivideOp, RangeArguments &arguments) {
  set(arguments, quotient(arguments.in(0), arguments.in(1)));
}

/// 0 where the divisor is 0, so that a divisor around 0 gives numbers of any size, but no NaN.
static void deriveDivideNoNan(DivideNoNanOp, RangeArguments &arguments) {
  const Bound &a = arguments.in(0), &b = arguments.in(1);
  Bound result = b.contains(0) ? Bound() : quotient(a, b);
  if (b.contains(0) && a.isFinite() && b.isFinite())
    result.mayBeNan = false;
  set(arguments, result);
}

static void deriveMaximum(MaximumOp, RangeArguments &arguments) {
  const Bound &a = arguments.in(0), &b = arguments.in(1);
  arguments.setExact(0, {std::max(a.low, b.low), std::max(a.high, b.high), a.mayBeNan || b.mayBeNan,
                         std::max(a.error, b.error), nullptr});
}
static void deriveMinimum(MinimumOp, RangeArguments &arguments) {
  const Bound &a = arguments.in(0), &b = arguments.in(1);
  arguments.setExact(0, {std::min(a.low, b.low), std::min(a.high, b.high), a.mayBeNan || b.mayBeNan,
                         std::max(a.error, b.error), nullptr});
}

/// The magnitude of the remainder of C is at most that of either operand.
static void deriveRemainder(RemainderOp, RangeArguments &arguments) {
  const Bound &a = arguments.in(0), &b = arguments.in(1);
  const double most = std::min(a.magnitude(), b.magnitude());
  Bound result = Bound::of(a.low < 0 ? -most : 0, a.high > 0 ? most : 0, kUnbounded);
  result.mayBeNan = a.mayBeNan || b.mayBeNan || b.contains(0) || std::isinf(a.magnitude());
  if (a.error == 0 && b.error == 0)
    result.error = 0;
  arguments.setExact(0, result);
}

/// A truth value is exact where what it is about is.
static void setTruth(RangeArguments &arguments) {
  const bool isExact =
      llvm::all_of(arguments.all(), [](const Bound &bound) { return bound.error == 0; });
  arguments.setExact(0, Bound::of(0, 1, isExact ? 0 : 1));
}
static void deriveCompare(CompareOp, RangeArguments &arguments) { setTruth(arguments); }
static void deriveLogicalAnd(LogicalAndOp, RangeArguments &arguments) { setTruth(arguments); }
static void deriveIsFinite(IsFiniteOp, RangeArguments &arguments) { setTruth(arguments); }

/// Where the condition may be another one than in exact arithmetic, the other value is taken.
static void deriveSelect(SelectOp, RangeArguments &arguments) {
  Bound result = hull(arguments.in(1), arguments.in(2));
  if (arguments.in(0).error > 0)
    result.error += result.high - result.low;
  arguments.setExact(0, result);
}

static void deriveNegate(NegateOp, RangeArguments &arguments) {
  arguments.setExact(0, negated(arguments.in(0)));
}
static void deriveAbs(AbsOp, RangeArguments &arguments) {
  const Bound &a = arguments.in(0);
  const double least = a.contains(0) ? 0 : std::min(std::abs(a.low), std::abs(a.high));
  arguments.setExact(0, {least, a.magnitude(), a.mayBeNan, a.error, nullptr});
}
static void deriveRelu(ReluOp, RangeArguments &arguments) {
  const Bound &a = arguments.in(0);
  arguments.setExact(0,
                     {std::max(a.low, 0.0), std::max(a.high, 0.0), a.mayBeNan, a.error, nullptr});
}
static void deriveSign(SignOp, RangeArguments &arguments) {
  const Bound &a = arguments.in(0);
  const bool isSure = a.low > a.error || a.high < -a.error || a.error == 0;
  arguments.setExact(0, {a.low > 0    ? 1.0
                         : a.low == 0 ? 0.0
                                      : -1.0,
                         a.high < 0    ? -1.0
                         : a.high == 0 ? 0.0
                                       : 1.0,
                         a.mayBeNan, isSure ? 0.0 : 2.0, nullptr});
}

/// The range of a rounding to integers: an error that is not 0 grows by one.
static Bound whole(const Bound &a, double low, double high) {
  return {low, high, a.mayBeNan, a.error == 0 ? 0 : a.error + 1, nullptr};
}
static void deriveFloor(FloorOp, RangeArguments &arguments) {
  const Bound &a = arguments.in(0);
  arguments.setExact(0, whole(a, std::floor(a.low), std::floor(a.high)));
}
static void deriveRound(RoundOp, RangeArguments &arguments) {
  const Bound &a = arguments.in(0);
  arguments.setExact(0, whole(a, std::nearbyint(a.low), std::nearbyint(a.high)));
}

void mpc::attachArithmeticRanges(MLIRContext &context) {
  attachRange<AddOp, deriveAdd, FormKind::Sum>(context);
  attachRange<SubtractOp, deriveSubtract, FormKind::Difference>(context);
  attachRange<MultiplyOp, deriveMultiply, FormKind::Product>(context);
  attachRange<DivideOp, deriveDivide>(context);
  attachRange<DivideNoNanOp, deriveDivideNoNan>(context);
  attachRange<MaximumOp, deriveMaximum>(context);
  attachRange<MinimumOp, deriveMinimum>(context);
  attachRange<RemainderOp, deriveRemainder>(context);
  attachRange<CompareOp, deriveCompare>(context);
  attachRange<LogicalAndOp, deriveLogicalAnd>(context);
  attachRange<IsFiniteOp, deriveIsFinite>(context);
  attachRange<SelectOp, deriveSelect>(context);
  attachRange<NegateOp, deriveNegate, FormKind::Negated>(context);
  attachRange<AbsOp, deriveAbs>(context);
  attachRange<ReluOp, deriveRelu>(context);
  attachRange<SignOp, deriveSign>(context);
  attachRange<FloorOp, deriveFloor>(context);
  attachRange<RoundOp, deriveRound>(context);
}
