// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// log and log1p. log(x) = n ln 2 + log(1 + f) with 1 + f in [sqrt(1/2), sqrt(2)), as in Cephes
// (S. Moshier, logf.c); coefficients: scripts/fit-math-polynomials.py.
#include "lib/Conversion/ExpandMath/Functions.h"
#include <limits>

using namespace mpc;
using Predicate = mlir::arith::CmpFPredicate;

static constexpr float kInfinity = std::numeric_limits<float>::infinity();

namespace {
/// A positive normal number as 2^n significand.
struct Split {
  Int32 n;
  Float32 significand;
};
} // namespace

static Split split(Float32 x) {
  constexpr int64_t kSqrtHalf = 0x3f3504f3;
  Int32 shifted = x.bits() - kSqrtHalf;
  return {shifted.shiftRight(23), fromBits((shifted & 0x7fffff) + kSqrtHalf)};
}

/// n ln 2 + log(1 + f) + correction.
static Float32 logOfSplit(Float32 n, Float32 f, Float32 correction) {
  Float32 square = f * f;
  // ln 2 in two parts; n times the larger one is exact.
  Float32 low = multiplyAdd(n, -2.12194440e-4f, correction);
  low = multiplyAdd(
      f * square,
      polynomial(f, {0.333333135f, -0.250000089f, 0.200021192f, -0.166679963f, 0.142195523f,
                     -0.124055892f, 0.11888162f, -0.116756521f, 0.067466408f}),
      low);
  return multiplyAdd(n, 0.693359375f, f + multiplyAdd(square, -0.5f, low));
}

/// The values at and beyond the pole; NaN for NaN.
static Float32 withPole(Float32 result, Float32 x, float pole) {
  const Site &site = *x.site;
  result = result.when(x.compare(Predicate::OEQ, kInfinity), x);
  result = result.when(x.compare(Predicate::OEQ, pole), {site, -kInfinity});
  return result.when(x.compare(Predicate::ULT, pole),
                     {site, std::numeric_limits<float>::quiet_NaN()});
}

Float32 mpc::expandLog(Float32 x) {
  const Site &site = *x.site;
  mlir::Value denormal = x.compare(Predicate::OLT, std::numeric_limits<float>::min());
  auto [n, significand] = split(x.when(denormal, x * 0x1p23f));
  Float32 exponent = toFloat(n);
  exponent = exponent.when(denormal, exponent - 23.0f);
  // -0 is the number whose addition folds away.
  return withPole(logOfSplit(exponent, significand - 1.0f, Float32(site, -0.0f)), x, 0.0f);
}

Float32 mpc::expandLog1p(Float32 x) {
  const Site &site = *x.site;
  Float32 one(site, 1.0f);
  // D. Knuth's TwoSum: sum + error is 1 + x exactly. log(m + d) = log(m) + d / m to first order,
  // and 1 / m = 2 - m is near enough for so small a d.
  Float32 sum = x + 1.0f;
  Float32 rest = sum - 1.0f;
  Float32 error = (one - (sum - rest)) + (x - rest);
  auto [n, significand] = split(sum);
  Float32 f = significand - 1.0f;
  // Where 2^-n would be denormal the error is 0.
  Float32 scaled = error * fromBits((Int32(site, int64_t(127)) - n.atMost(126)).shiftLeft(23));
  Float32 result = withPole(logOfSplit(toFloat(n), f, multiplyAdd(-scaled, f, scaled)), x, -1.0f);
  // -0 keeps its sign.
  return result.when(x.abs().compare(Predicate::OLT, 0x1p-25f), x);
}
