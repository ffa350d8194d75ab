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

Float32 mpc::expandErf(Float32 x) {
  Float32 magnitude = x.abs(), square = magnitude * magnitude;
  Float32 small =
      multiplyAdd(magnitude,
                  polynomial(square, {0.128379166f, -0.376126349f, 0.112836942f, -0.0268592704f,
                                      0.00520063424f, -0.00081374374f, 8.34522434e-05f}),
                  magnitude);
  // 2 / sqrt(pi) x: the second summand above would be denormal.
  small = small.when(magnitude.compare(Predicate::OLT, 0x1p-100f), magnitude * 1.12837917f);
  // 1 - e^-(x + x P(x)), the form of N. Juffa's erff; from 4 on that rounds to 1.
  Float32 limited = magnitude.atMost(4.0f);
  Float32 exponent =
      multiplyAdd(limited,
                  polynomial(limited, {0.128652155f, 0.635135889f, 0.106263146f, -0.0237853453f,
                                       0.00365376286f, -0.000325652421f, 1.1522261e-05f}),
                  limited);
  Float32 large = -expOfMedium(-exponent) + 1.0f;
  return withSignOf(large.when(magnitude.compare(Predicate::OLT, 0.9277f), small), x);
}
