// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// exp, expm1, tanh, erf. e^x = 2^n e^r with n = round(x / ln 2), as in Cephes (S. Moshier,
// expf.c); coefficients: scripts/fit-math-polynomials.py.
#include "Functions.h"

using namespace mpc;
using Predicate = mlir::arith::CmpFPredicate;

namespace {
/// x = n ln 2 + remainder + tail, |remainder| <= ln(2) / 2.
struct Reduced {
  Int32 n;
  Float32 remainder;
  Float32 tail;
};
} // namespace

/// For |x| < 2^7. NaN gives some n and the remainder NaN.
static Reduced reduce(Float32 x) {
  // Adding 1.5 * 2^23 rounds to an integer and leaves it in the low bits.
  constexpr float kRound = 12582912.0f;
  // ln 2 in two parts; the first has so few bits that n times it is exact.
  constexpr float kHigh = 0.693359375f, kLow = -2.12194440e-4f;
  Float32 rounded = multiplyAdd(x, 1.44269504f, {*x.site, kRound});
  Float32 n = rounded - kRound;
  Float32 high = multiplyAdd(n, -kHigh, x);
  Float32 remainder = multiplyAdd(n, -kLow, high);
  return {rounded.bits() - Float32(*x.site, kRound).bits(), remainder,
          multiplyAdd(n, -kLow, high - remainder)};
}

/// e^r - 1 - r for |r| <= ln(2) / 2.
static Float32 expTail(Float32 r) {
  return r * r *
         polynomial(r, {0.5f, 0.166666657f, 0.0416662954f, 0.00833349675f, 0.00139446591f,
                        0.000197903413f});
}

/// e^x where n stays in [-126, 127].
static Float32 expOfMedium(Float32 x) {
  Reduced reduced = reduce(x);
  return (expTail(reduced.remainder) + reduced.remainder + 1.0f) * powerOfTwo(reduced.n);
}

Float32 mpc::expandExp(Float32 x) {
  Reduced reduced = reduce(x.atMost(89.0f).atLeast(-104.0f));
  // n in [-150, 128] needs two factors; only the second one rounds, overflows or underflows.
  Int32 half = reduced.n.shiftRight(1);
  return (expTail(reduced.remainder) + reduced.remainder + 1.0f) * powerOfTwo(half) *
         powerOfTwo(reduced.n - half);
}

Float32 mpc::expandExpM1(Float32 x) {
  Reduced reduced = reduce(x.atMost(89.0f).atLeast(-20.0f));
  // (2^n - 1) + 2^n r + 2^n (e^r - 1 - r), halved because 2^128 is infinite.
  Float32 scale = powerOfTwo(reduced.n - 1);
  Float32 half = multiplyAdd(scale, expTail(reduced.remainder) + reduced.tail,
                             multiplyAdd(scale, reduced.remainder, scale - 0.5f));
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
  // Adding 1.5 * 2^23 rounds to an integer; 127 more, the bias of exponents, and its bits are those
  // of the power of two once they are shifted.
  constexpr float kRound = 12582912.0f + 127.0f;
  Float32 rounded = exponent + kRound;
  Float32 fraction = exponent - (rounded - kRound);
  Float32 mantissa = multiplyAdd(fraction,
                                 polynomial(fraction, {0.693147004f, 0.240222424f, 0.0555073395f,
                                                       0.00967153348f, 0.00132646994f}),
                                 {*exponent.site, 1.0f});
  return mantissa * fromBits(rounded.bits().shiftLeft(23));
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
