// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Outward rounding and hulls.
#include "mpc/Numerics/Ranges/Bound.h"
#include "dialects/mpc/IR/Mpc.h"

using namespace mlir;
using namespace mpc;

/// The bounds of an integer type; of wide ones the doubles around them.
static std::pair<double, double> integersOf(IntegerType type) {
  const int width = int(type.getWidth());
  if (width == 1 || type.isUnsigned())
    return {0, std::ldexp(1, width) - 1};
  return {-std::ldexp(1, width - 1), std::ldexp(1, width - 1) - 1};
}

static double largestOf(FloatType type) {
  llvm::APFloat largest = llvm::APFloat::getLargest(type.getFloatSemantics());
  bool losesInfo = false;
  largest.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  return largest.convertToDouble();
}

Bound Bound::anyOf(Type elementType) {
  if (auto integer = dyn_cast<IntegerType>(elementType)) {
    auto [low, high] = integersOf(integer);
    return {low, high, /*mayBeNan=*/false, kUnbounded, nullptr};
  }
  return {};
}

Bound Bound::finiteOf(Type elementType) {
  if (auto floating = dyn_cast<FloatType>(elementType))
    return of(-largestOf(floating), largestOf(floating));
  Bound bound = anyOf(elementType);
  bound.error = 0;
  return bound;
}

Bound Bound::ofElements(std::shared_ptr<const ReferenceTensor> elements) {
  Bound bound = of(kUnbounded, -kUnbounded);
  for (int64_t i = 0, count = elements->size(); i < count; ++i) {
    const double element = elements->at(i);
    bound.mayBeNan |= std::isnan(element);
    bound.low = std::min(bound.low, std::isnan(element) ? bound.low : element);
    bound.high = std::max(bound.high, std::isnan(element) ? bound.high : element);
  }
  if (bound.low > bound.high) // no numbers at all
    bound.low = bound.high = 0;
  bound.constant = std::move(elements);
  return bound;
}

void Bound::widen() {
  if (std::isnan(low) || std::isnan(high)) {
    *this = Bound();
    return;
  }
  low = std::nextafter(low, -kUnbounded);
  high = std::nextafter(high, kUnbounded);
  error *= 1 + 0x1p-50;
}

Bound mpc::hull(const Bound &a, const Bound &b) {
  return {std::min(a.low, b.low), std::max(a.high, b.high), a.mayBeNan || b.mayBeNan,
          std::max(a.error, b.error), nullptr};
}

double mpc::halfUnit(Type elementType, double magnitude) {
  const llvm::fltSemantics &semantics = cast<FloatType>(elementType).getFloatSemantics();
  const int digits = int(llvm::APFloat::semanticsPrecision(semantics));
  const int least = llvm::APFloat::semanticsMinExponent(semantics);
  const int exponent = magnitude > 0 ? std::max(std::ilogb(magnitude), least) : least;
  return std::ldexp(1, exponent - digits);
}

Bound mpc::rounded(Bound exact, Type elementType) {
  auto floating = dyn_cast<FloatType>(elementType);
  if (!floating || std::isnan(exact.low) || std::isnan(exact.high))
    return Bound::anyOf(elementType);
  Type wide = widerOf32(elementType);
  // Some kernels round once, others in float32 first: neither leaves the two results.
  auto once = [&](double value) { return roundTo(elementType, value) + 0.0; };
  auto twice = [&](double value) { return once(roundTo(wide, value)); };
  Bound result = {std::min(once(exact.low), twice(exact.low)),
                  std::max(once(exact.high), twice(exact.high)), exact.mayBeNan, exact.error,
                  nullptr};
  // A float64 that is nearly 0 has no next doubles to be sure of.
  constexpr double tiny = 0x1p-990;
  if (result.low != 0 && std::abs(result.low) < tiny)
    result.low = result.low < 0 ? -tiny : 0;
  if (result.high != 0 && std::abs(result.high) < tiny)
    result.high = result.high > 0 ? tiny : 0;
  // One end at least is a number, where there are numbers at all.
  result.low = std::min(result.low, largestOf(floating));
  result.high = std::max(result.high, -largestOf(floating));
  const double largest = std::max(exact.magnitude(), result.magnitude());
  // Rounding in float32 first moves a tie by 2^-13 units at most.
  result.error = std::isfinite(largest)
                     ? result.error + halfUnit(elementType, largest) * (1 + 0x1p-10)
                     : kUnbounded;
  return result;
}

double mpc::roundError(double error) {
  if (error == 0)
    return 0;
  constexpr int digits = 32;
  int exponent = 0; // those of tiny numbers would not have as many digits
  const double part = std::frexp(std::max(error * (1 + 0x1p-40), 0x1p-1000), &exponent);
  return std::ldexp(std::ceil(std::ldexp(part, digits)), exponent - digits);
}

double mpc::functionSlack(Type elementType) { return elementType.isF64() ? 0x1p-45 : 0x1p-19; }

double mpc::sumSlack(Type elementType, double terms) {
  // Higham, Accuracy and Stability of Numerical Algorithms, section 3.1: n u / (1 - n u), one more
  // for the products and one for a bias.
  const double units = (terms + 2) * (elementType.isF64() ? 0x1p-53 : 0x1p-24);
  return units < 0.5 ? units / (1 - units) : kUnbounded;
}
