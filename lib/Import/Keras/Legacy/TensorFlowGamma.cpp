// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The logarithm of the gamma function, and that logarithm's derivatives, in float32 or wider.
// Formulas: NIST Digital Library of Mathematical Functions, sections 5.5, 5.7, 5.11 and 5.15.
#include "lib/Import/Keras/Legacy/TensorFlowBuilder.h"

#include <cmath>
#include <limits>

namespace mpc::keras {
namespace {

using mlir::Value;
using T = TensorFlowBuilder;

// log Gamma(2 + t) / t, the lowest power of t first: 1 - Euler's constant, then
// (-1)^k (zeta(k) - 1) / k.
constexpr double kAboutTwo[] = {
    0.42278433509846713,     0.3224670334241132,     -0.0673523010531981,    0.020580808427784546,
    -0.007385551028673986,   0.0028905103307415234,  -0.001192753911703261,  0.0005096695247430425,
    -0.00022315475845357936, 9.945751278180853e-05,  -4.492623673813314e-05, 2.0507212775670694e-05,
    -9.439488275268395e-06,  4.374866789907487e-06,  -2.039215753801366e-06, 9.55141213040742e-07,
    -4.492469198764566e-07,  2.1207184805554667e-07, -1.00432248239681e-07,  4.769810169363981e-08,
    -2.2711094608943164e-08, 1.0838659214896955e-08, -5.183475041970047e-09, 2.4836745438024785e-09,
    -1.1921401405860912e-09};
// Coefficients of the expansion for large x: B(2k) / (2k (2k - 1)), the factors of x^(1 - 2k) in
// log Gamma.
constexpr double kStirling[] = {1.0 / 12,   -1.0 / 360,        1.0 / 1260, -1.0 / 1680,
                                1.0 / 1188, -691.0 / 360360.0, 1.0 / 156,  -3617.0 / 122400};
constexpr int kTerms = 8;
/// From here on the expansions hold in float64, too.
constexpr double kLarge = 8.0;

/// One argument, and the arithmetic on it.
class Gamma {
public:
  Gamma(T &b, Value x) : b(b), x(x), one(b.makeConstant(1.0)) {
    whole = b.make<RoundOp>(x);
    Value rest = b.make<SubtractOp>(x, whole);
    Value angle = multiply(rest, b.makeConstant(M_PI));
    sine = b.make<SinOp>(angle);
    cosine = b.make<CosOp>(angle);
  }

  Value logarithm();
  Value digamma();
  Value trigamma();

private:
  Value add(Value l, Value r) { return b.make<AddOp>(l, r); }
  Value subtract(Value l, Value r) { return b.make<SubtractOp>(l, r); }
  Value multiply(Value l, Value r) { return b.make<MultiplyOp>(l, r); }
  Value divide(Value l, Value r) { return b.make<DivideOp>(l, r); }
  Value number(double value) { return b.makeConstant(value); }
  Value isLess(Value l, double r) { return b.makeCompare(ComparePredicate::LT, l, number(r)); }
  Value series(Value at, llvm::ArrayRef<double> factors) {
    Value sum = number(factors.back());
    for (double factor : llvm::reverse(factors.drop_back()))
      sum = add(multiply(sum, at), number(factor));
    return sum;
  }
  Value logarithmOfPositive(Value y);
  /// y, or y + 8 where it is below 8: there the expansions hold.
  Value raise(Value y) { return b.makeSelect(isLess(y, kLarge), add(y, number(kLarge)), y); }
  /// `far`, of a raised argument, back at y: plus the terms of the steps in between.
  Value lower(Value y, Value far, int power);
  /// 1 - x at x <= 0, where the reflection formulas lead to it.
  Value mirrored() { return b.makeSelect(isPositive(), x, subtract(one, x)); }
  Value isPositive() { return b.makeCompare(ComparePredicate::GT, x, number(0.0)); }

  T &b;
  Value x, one, whole, sine, cosine; ///< the last two of pi (x - whole)
};

/// y > 0. Around 2 a power series, into whose interval steps of 1 lead; from 8 on Stirling's.
Value Gamma::logarithmOfPositive(Value y) {
  Value place = y, product = one;
  for (int step = 0; step < 6; ++step) {
    Value isAbove = b.makeCompare(ComparePredicate::GT, place, number(2.5));
    place = b.makeSelect(isAbove, subtract(place, one), place);
    product = b.makeSelect(isAbove, multiply(product, place), product);
  }
  // Below 1.5: log Gamma(y) = log Gamma(y + 1) - log(y), and below 0.5 the same once more.
  Value isLow = isLess(y, 1.5), isLowest = isLess(y, 0.5);
  place = b.makeSelect(isLow, add(y, one), place);
  Value beyond = subtract(place, number(2.0)); // y - 1 without a rounding, below 1.5
  beyond = b.makeSelect(isLow, b.makeSelect(isLowest, y, subtract(y, one)), beyond);
  Value logOfProduct = b.make<LogOp>(product);
  Value logOfLow = b.make<Log1pOp>(subtract(y, one));
  logOfLow = b.makeSelect(isLowest, add(b.make<LogOp>(y), b.make<Log1pOp>(y)), logOfLow);
  logOfProduct = b.makeSelect(isLow, b.make<NegateOp>(logOfLow), logOfProduct);
  Value near = add(multiply(beyond, series(beyond, kAboutTwo)), logOfProduct);

  Value isFar = b.makeCompare(ComparePredicate::GE, y, number(kLarge));
  Value large = b.makeSelect(isFar, y, number(kLarge)), inverse = divide(one, large);
  Value far = multiply(subtract(large, number(0.5)), subtract(b.make<LogOp>(large), one));
  far = add(far, number(0.5 * std::log(2 * M_PI) - 0.5));
  far = add(far, multiply(inverse, series(multiply(inverse, inverse), kStirling)));
  return b.makeSelect(isFar, far, near);
}

/// Infinite at 0, -1, -2 …; below 0 log(pi / |x sin(pi x)|) - log Gamma(-x).
Value Gamma::logarithm() {
  Value size = b.make<AbsOp>(x);
  Value positive = logarithmOfPositive(size);
  Value reflected = b.make<LogOp>(divide(number(M_PI), multiply(size, b.make<AbsOp>(sine))));
  Value y = b.makeSelect(isPositive(), positive, subtract(reflected, positive));
  const double infinity = std::numeric_limits<double>::infinity();
  Value isPole = b.makeCompare(ComparePredicate::EQ, whole, x);
  y = b.makeSelect(isPositive(), y, b.makeSelect(isPole, number(infinity), y));
  return y;
}

Value Gamma::lower(Value y, Value far, int power) {
  Value sum;
  for (int step = 0; step < int(kLarge); ++step) {
    Value place = step ? add(y, number(step)) : y;
    Value term = divide(one, power == 2 ? multiply(place, place) : place);
    sum = sum ? add(sum, term) : term;
  }
  Value lowered = power == 2 ? add(far, sum) : subtract(far, sum);
  return b.makeSelect(isLess(y, kLarge), lowered, far);
}

/// NaN at 0, -1, -2 …, as TensorFlow's.
Value Gamma::digamma() {
  Value y = mirrored(), large = raise(y), inverse = divide(one, large);
  Value square = multiply(inverse, inverse);
  llvm::SmallVector<double> factors;
  for (int k = 0; k < kTerms; ++k)
    factors.push_back(kStirling[k] * (2 * k + 1));
  Value far = subtract(b.make<LogOp>(large), multiply(inverse, number(0.5)));
  far = subtract(far, multiply(square, series(square, factors)));
  Value value = lower(y, far, 1);
  Value turned = divide(multiply(number(M_PI), cosine), sine);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  Value isPole = b.makeCompare(ComparePredicate::EQ, whole, x);
  Value reflected = b.makeSelect(isPole, number(nan), subtract(value, turned));
  return b.makeSelect(isPositive(), value, reflected);
}

Value Gamma::trigamma() {
  Value y = mirrored(), large = raise(y), inverse = divide(one, large);
  Value square = multiply(inverse, inverse);
  llvm::SmallVector<double> factors;
  for (int k = 0; k < kTerms; ++k)
    factors.push_back(kStirling[k] * (2 * k + 1) * (2 * k + 2));
  Value far = add(inverse, multiply(square, number(0.5)));
  far = add(far, multiply(multiply(square, inverse), series(square, factors)));
  Value value = lower(y, far, 2);
  Value ratio = divide(number(M_PI), sine);
  return b.makeSelect(isPositive(), value, subtract(multiply(ratio, ratio), value));
}

} // namespace

Value importGammaFunction(T &b) {
  Value given = b.getFloat("x");
  if (!given)
    return {};
  Value x = b.makeCastLike(given, given, /*wide=*/true);
  Gamma gamma(b, x);
  const bool isLogarithm = llvm::StringRef(b.function.names).contains("lgamma");
  Value value = isLogarithm ? gamma.logarithm() : gamma.digamma();
  // The function's own derivative, not the approximation's.
  Value slope = b.make<StopGradientOp>(isLogarithm ? gamma.digamma() : gamma.trigamma());
  value = b.make<StraightThroughOp>(value, b.make<MultiplyOp>(x, slope));
  return b.makeCastLike(value, given);
}

} // namespace mpc::keras
