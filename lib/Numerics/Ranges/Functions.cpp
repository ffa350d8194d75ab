// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Ranges of functions of one number, and of powers: monotone ones by their ends, all with what
// their kernels may be off.
#include "lib/Numerics/Ranges/RangeModels.h"

using namespace mlir;
using namespace mpc;

/// Takes what kernels may be off into account, and rounds. `slope` bounds the derivative on all
/// numbers between computed and exact ones.
static void setFunction(RangeArguments &arguments, double low, double high, double slope,
                        bool mayBeNan = false) {
  const Bound &a = arguments.in(0);
  const double slack = functionSlack(arguments.typeOf(0));
  // Kernels may make 0 of subnormal numbers.
  constexpr double kLeastNormal = 0x1p-126;
  Bound result = {low - std::abs(low) * slack - kLeastNormal,
                  high + std::abs(high) * slack + kLeastNormal, a.mayBeNan || mayBeNan, 0, nullptr};
  result.error = (a.error == 0 ? 0 : a.error * slope) + result.magnitude() * slack;
  // libm is off by a unit or two of double.
  for (int i = 0; i < 4; ++i)
    result.widen();
  arguments.setRounded(0, result);
}

static void deriveExp(ExpOp, RangeArguments &arguments) {
  const Bound &a = arguments.in(0);
  setFunction(arguments, std::exp(a.low), std::exp(a.high), std::exp(a.high + a.error));
}
static void deriveExpm1(Expm1Op, RangeArguments &arguments) {
  const Bound &a = arguments.in(0);
  setFunction(arguments, std::expm1(a.low), std::expm1(a.high), std::exp(a.high + a.error));
}
static void deriveLog(LogOp, RangeArguments &arguments) {
  const Bound &a = arguments.in(0);
  const double least = a.low - a.error;
  setFunction(arguments, a.low > 0 ? std::log(a.low) : -kUnbounded,
              a.high > 0 ? std::log(a.high) : -kUnbounded, least > 0 ? 1 / least : kUnbounded,
              /*mayBeNan=*/a.low < 0);
}
static void deriveLog1p(Log1pOp, RangeArguments &arguments) {
  const Bound &a = arguments.in(0);
  const double least = 1 + a.low - a.error;
  setFunction(arguments, a.low > -1 ? std::log1p(a.low) : -kUnbounded,
              a.high > -1 ? std::log1p(a.high) : -kUnbounded, least > 0 ? 1 / least : kUnbounded,
              /*mayBeNan=*/a.low < -1);
}
static void deriveSqrt(SqrtOp, RangeArguments &arguments) {
  const Bound &a = arguments.in(0);
  const double least = a.low - a.error;
  setFunction(arguments, std::sqrt(std::max(a.low, 0.0)), std::sqrt(std::max(a.high, 0.0)),
              least > 0 ? 0.5 / std::sqrt(least) : kUnbounded, /*mayBeNan=*/a.low < 0);
}
static void deriveRsqrt(RsqrtOp, RangeArguments &arguments) {
  const Bound &a = arguments.in(0);
  const double least = a.low - a.error;
  // 1 / sqrt(-0) is -inf.
  const bool mayBeZero = a.low <= 0;
  setFunction(arguments, mayBeZero ? -kUnbounded : 1 / std::sqrt(a.high),
              mayBeZero ? kUnbounded : 1 / std::sqrt(a.low),
              least > 0 ? 0.5 / (least * std::sqrt(least)) : kUnbounded, /*mayBeNan=*/a.low < 0);
}

/// Sine and cosine lie in [-1, 1]; of infinity they are NaN.
template <typename OpT> static void deriveWave(OpT, RangeArguments &arguments) {
  setFunction(arguments, -1, 1, 1, /*mayBeNan=*/std::isinf(arguments.in(0).magnitude()));
}

static void deriveTanh(TanhOp, RangeArguments &arguments) {
  const Bound &a = arguments.in(0);
  setFunction(arguments, std::tanh(a.low), std::tanh(a.high), 1);
}
static double sigmoidOf(double x) { return 1 / (1 + std::exp(-x)); }
static void deriveSigmoid(SigmoidOp, RangeArguments &arguments) {
  const Bound &a = arguments.in(0);
  setFunction(arguments, sigmoidOf(a.low), sigmoidOf(a.high), 0.25);
}
static double softplusOf(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }
static void deriveSoftplus(SoftplusOp, RangeArguments &arguments) {
  const Bound &a = arguments.in(0);
  setFunction(arguments, softplusOf(a.low), softplusOf(a.high), 1);
}
static void deriveErf(ErfOp, RangeArguments &arguments) {
  const Bound &a = arguments.in(0);
  setFunction(arguments, std::erf(a.low), std::erf(a.high), M_2_SQRTPI);
}
static void deriveErfc(ErfcOp, RangeArguments &arguments) {
  const Bound &a = arguments.in(0);
  setFunction(arguments, std::erfc(a.high), std::erfc(a.low), M_2_SQRTPI);
}
/// At most x for positive x; the minimum is -0.17004.
static void deriveGelu(GeluOp, RangeArguments &arguments) {
  const Bound &a = arguments.in(0);
  setFunction(arguments, a.low >= 0 ? 0 : -0.1700409, std::max(a.high, 0.0), 1.13,
              /*mayBeNan=*/a.low == -kUnbounded);
}
/// The derivative of gelu lies in [-0.13, 1.13].
static void deriveGeluGradient(GeluGradientOp, RangeArguments &arguments) {
  const Bound &dy = arguments.in(0), &x = arguments.in(1);
  const double most = dy.magnitude() == 0 ? 0 : dy.magnitude() * 1.1291;
  Bound result = {-most, most, dy.mayBeNan || x.mayBeNan || !x.isFinite() || !dy.isFinite(),
                  kUnbounded, nullptr};
  result.widen();
  arguments.setRounded(0, result);
}
static void deriveArctan2(Arctan2Op, RangeArguments &arguments) {
  const Bound &y = arguments.in(0), &x = arguments.in(1);
  Bound result = {-M_PI * (1 + 0x1p-19), M_PI * (1 + 0x1p-19), y.mayBeNan || x.mayBeNan,
                  y.error == 0 && x.error == 0 ? M_PI * 0x1p-19 : kUnbounded, nullptr};
  arguments.setRounded(0, result);
}

/// The one number that a bound holds.
static std::optional<double> single(const Bound &bound) {
  return bound.low == bound.high && !bound.mayBeNan && bound.error == 0 ? std::optional(bound.low)
                                                                        : std::nullopt;
}

/// Whole exponents of any base, others of positive ones.
static void derivePower(PowerOp, RangeArguments &arguments) {
  const Bound &a = arguments.in(0), &b = arguments.in(1);
  const std::optional<double> exponent = single(b);
  const bool isWhole = exponent && *exponent == std::floor(*exponent) && *exponent >= 1;
  const double slack = functionSlack(arguments.typeOf(0));
  Bound result;
  if (isWhole && a.low < 0) {
    const bool isEven = std::fmod(*exponent, 2) == 0;
    const double ends[] = {std::pow(a.low, *exponent), std::pow(a.high, *exponent)};
    result = Bound::of(isEven && a.contains(0) ? 0 : std::min(ends[0], ends[1]),
                       std::max(ends[0], ends[1]));
  } else if (a.low > 0 || (a.low >= 0 && b.low > 0)) {
    const double ends[] = {std::pow(a.low, b.low), std::pow(a.low, b.high), std::pow(a.high, b.low),
                           std::pow(a.high, b.high)};
    result = Bound::of(*std::min_element(std::begin(ends), std::end(ends)),
                       *std::max_element(std::begin(ends), std::end(ends)));
  } else {
    return arguments.setExact(0, Bound::anyOf(arguments.typeOf(0)));
  }
  result.mayBeNan = a.mayBeNan || b.mayBeNan;
  result.low -= std::abs(result.low) * slack;
  result.high += std::abs(result.high) * slack;
  const double slope = exponent && *exponent >= 1
                           ? *exponent * std::pow(a.magnitude() + a.error, *exponent - 1)
                           : kUnbounded;
  const bool isExact = a.error == 0 && b.error == 0;
  result.error = (isExact        ? 0
                  : b.error == 0 ? a.error * slope
                                 : kUnbounded) +
                 result.magnitude() * slack;
  for (int i = 0; i < 4; ++i)
    result.widen();
  arguments.setRounded(0, result);
}

void mpc::attachFunctionRanges(MLIRContext &context) {
  attachRange<ExpOp, deriveExp>(context);
  attachRange<Expm1Op, deriveExpm1>(context);
  attachRange<LogOp, deriveLog>(context);
  attachRange<Log1pOp, deriveLog1p>(context);
  attachRange<SqrtOp, deriveSqrt>(context);
  attachRange<RsqrtOp, deriveRsqrt>(context);
  attachRange<SinOp, deriveWave<SinOp>>(context);
  attachRange<CosOp, deriveWave<CosOp>>(context);
  attachRange<TanhOp, deriveTanh>(context);
  attachRange<SigmoidOp, deriveSigmoid>(context);
  attachRange<SoftplusOp, deriveSoftplus>(context);
  attachRange<ErfOp, deriveErf>(context);
  attachRange<ErfcOp, deriveErfc>(context);
  attachRange<GeluOp, deriveGelu>(context);
  attachRange<GeluGradientOp, deriveGeluGradient>(context);
  attachRange<Arctan2Op, deriveArctan2>(context);
  attachRange<PowerOp, derivePower>(context);
}
