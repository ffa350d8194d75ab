// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// exp, expm1, tanh, erf. e^x = 2^n e^r with n = round(x / ln 2), as in Cephes (S. Moshier,
// expf.c); coefficients: scripts/fit-math-polynomials.py.
#include "dialects/mpcrt/IR/Mpcrt.h"
#include "lib/Conversion/ExpandMath/Functions.h"

#include <limits>

using namespace mpc;
using Predicate = mlir::arith::CmpFPredicate;

/// Adding 1.5 * 2^23 rounds to an integer and leaves it in the low bits, which a shift makes an
/// exponent.
static constexpr float kRound = 12582912.0f;
static Int32 toExponent(Float32 rounded) { return rounded.bits().shiftLeft(23); }
/// A sum with kRound includes this, so that its exponent is that of the power of two.
static constexpr float kExponentBias = 127.0f;

namespace {
/// x = n ln 2 + remainder + tail, |remainder| <= ln(2) / 2.
struct Reduced {
  Int32 exponent; ///< (n + bias) 2^23
  Float32 remainder;
  Float32 tail;
};
} // namespace

/// For |x| < 2^7; others give some n and remainder, and NaN the remainder NaN.
static Reduced reduce(Float32 x, float bias) {
  // ln 2 in two parts; the first has so few bits that n times it is exact.
  constexpr float kHigh = 0.693359375f, kLow = -2.12194440e-4f;
  Float32 rounded = multiplyAdd(x, 1.44269504f, {*x.site, kRound + bias});
  Float32 n = rounded - (kRound + bias);
  Float32 high = multiplyAdd(n, -kHigh, x);
  Float32 remainder = multiplyAdd(n, -kLow, high);
  return {toExponent(rounded), remainder, multiplyAdd(n, -kLow, high - remainder)};
}

/// P of e^r = 1 + r + r^2 P(r) for |r| <= ln(2) / 2: the fitted one, with coefficients moved by
/// some units in their last places by a search for a smaller largest error of exp.
static Float32 expTail(Float32 r) {
  return polynomial(
      r, {0.5f, 0.166666642f, 0.0416662954f, 0.0083333347f, 0.00139405788f, 0.000197460788f});
}

/// e^r, 0.7 to 1.42.
static Float32 expOfRemainder(Float32 r) { return r * r * expTail(r) + r + 1.0f; }

Float32 mpc::expandExp(Float32 x) {
  // A sum of exponents takes less time than a product with 2^n, and 2^128 would be infinite.
  Reduced reduced = reduce(x, /*bias=*/0.0f);
  Float32 result = fromBits(expOfRemainder(reduced.remainder).bits() + reduced.exponent);
  // Nothing is right outside of the arguments of the smallest normal number and of the largest one.
  result = result.when(x.compare(Predicate::OLT, -87.3365402f), {*x.site, 0.0f});
  result = result.when(x.compare(Predicate::UGT, 88.7228317f),
                       x + std::numeric_limits<float>::infinity());
  result.value.getDefiningOp()->setAttr(mpcrt::MpcrtDialect::kElseNumberAttr,
                                        x.site->builder.getUnitAttr());
  return result;
}

/// e^x where n stays in [-126, 127].
static Float32 expOfMedium(Float32 x) {
  Reduced reduced = reduce(x, kExponentBias);
  return expOfRemainder(reduced.remainder) * fromBits(reduced.exponent);
}

Float32 mpc::expandExpM1(Float32 x) {
  // (2^n - 1) + 2^n r + 2^n (e^r - 1 - r), halved because 2^128 is infinite.
  Reduced reduced = reduce(x.atMost(89.0f).atLeast(-20.0f), kExponentBias - 1.0f);
  Float32 r = reduced.remainder, scale = fromBits(reduced.exponent);
  Float32 half =
      multiplyAdd(scale, r * r * expTail(r) + reduced.tail, multiplyAdd(scale, r, scale - 0.5f));
  // -0 keeps its sign and small numbers are not halved into denormals.
  return (half + half).when(x.abs().compare(Predicate::OLT, 0x1p-25f), x);
}

Float32 mpc::expandTanh(Float32 x) {
  Float32 magnitude = x.abs(), square = magnitude * magnitude;
  Float32 small = multiplyAdd(magnitude * square,
                              polynomial(square, {-0.333332837f, 0.133314908f, -0.0537434965f,
                                                  0.020650588f, -0.00571704516f}),
                              magnitude);
  // 1 - 2 / (e^2x + 1); from 10 on that rounds to 1.
  Float32 limited = magnitude.atMost(10.0f);
  Float32 large = -(Float32(*x.site, 2.0f) / (expOfMedium(limited + limited) + 1.0f)) + 1.0f;
  return withSignOf(large.when(magnitude.compare(Predicate::OLT, 0.625f), small), x);
}

/// 2^exponent for exponents in [-126, 127], with an error of 2^-23.
static Float32 exp2OfMedium(Float32 exponent) {
  Float32 rounded = exponent + (kRound + kExponentBias);
  Float32 fraction = exponent - (rounded - (kRound + kExponentBias));
  Float32 mantissa = multiplyAdd(fraction,
                                 polynomial(fraction, {0.693147004f, 0.240222424f, 0.0555073395f,
                                                       0.00967153348f, 0.00132646994f}),
                                 {*exponent.site, 1.0f});
  return mantissa * fromBits(toExponent(rounded));
}

Float32 mpc::expandErf(Float32 x) {
  Float32 square = x * x, negative = negativeMagnitude(x);
  Float32 small =
      multiplyAdd(x,
                  polynomial(square, {0.128379166f, -0.37612626f, 0.112835854f, -0.026853811f,
                                      0.00518832775f, -0.000801019254f, 7.85385782e-05f}),
                  x);
  // 2 / sqrt(pi) x: the second summand above would be denormal.
  small = small.when(negative.compare(Predicate::OGT, -0x1p-100f), x * 1.12837917f);
  // 1 - e^-p(|x|), the form of N. Juffa's erff, with a power of 2; from 4 on that rounds to 1.
  Float32 limited = negative.atLeast(-4.0f);
  Float32 exponent =
      multiplyAdd(limited,
                  polynomial(limited, {0.6280604f, -0.917285502f, 0.151682734f, 0.0329111665f,
                                       0.00460381573f, 0.000304604037f}),
                  limited);
  Float32 large = withSignOf(-exp2OfMedium(exponent) + 1.0f, x);
  return large.when(negative.compare(Predicate::OGT, -1.0f), small);
}
