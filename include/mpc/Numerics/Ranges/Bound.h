// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A bound is what is proved of all elements of a value: an interval, whether NaN is possible, and
// how far from exact arithmetic they are at most.
#ifndef MPC_NUMERICS_RANGES_BOUND_H
#define MPC_NUMERICS_RANGES_BOUND_H

#include "dialects/mpc/IR/Reference.h"
#include <cmath>
#include <limits>
#include <memory>

namespace mpc {

/// A bound or an error of which nothing is known.
inline constexpr double kUnbounded = std::numeric_limits<double>::infinity();

/// Every element that any kernel of the op may compute lies in [low, high], both inclusive and
/// maybe infinite, or is NaN where `mayBeNan`. `error` bounds the distance from what the same ops
/// give on the same inputs and weights in real arithmetic; infinite: not known.
struct Bound {
  double low = -kUnbounded;
  double high = kUnbounded;
  bool mayBeNan = true;
  double error = kUnbounded;
  /// The elements themselves, of weights and constants that no op but casts and movements changed.
  std::shared_ptr<const ReferenceTensor> constant;

  static Bound of(double low, double high, double error = 0) {
    return {low, high, /*mayBeNan=*/false, error, nullptr};
  }
  /// Everything that a type holds, NaN and infinities included.
  static Bound anyOf(mlir::Type elementType);
  /// The finite numbers of a type, exact: an input of which nothing is said.
  static Bound finiteOf(mlir::Type elementType);
  /// The elements of a tensor.
  static Bound ofElements(std::shared_ptr<const ReferenceTensor> elements);

  double magnitude() const { return std::max(std::abs(low), std::abs(high)); }
  bool isFinite() const { return !mayBeNan && std::isfinite(low) && std::isfinite(high); }
  bool contains(double value) const { return low <= value && value <= high; }
  /// The next doubles, so that what was computed in double is inside.
  void widen();
};

/// The smallest bound that holds both; no constant.
Bound hull(const Bound &a, const Bound &b);

/// The bound of the real numbers `exact` after rounding to `elementType` as ops do it, in float32
/// or float64 first.
Bound rounded(Bound exact, mlir::Type elementType);

/// Half the distance of neighbours at this magnitude: what rounding changes at most.
double halfUnit(mlir::Type elementType, double magnitude);

/// A number of 32 binary digits that is no smaller, even if `error` was computed in double: a
/// certificate has no other errors, and an edited one hardly any of these.
double roundError(double error);

/// How much functions beyond + - * / and sqrt may be off, relative to their value, where they are
/// computed in the type that holds sums of `elementType` (docs/decisions/0083-proved-ranges.md).
double functionSlack(mlir::Type elementType);

/// How much a sum of so many products may be off, relative to the sum of their magnitudes, whatever
/// the order of its additions; infinite where nothing can be said.
double sumSlack(mlir::Type elementType, double terms);

} // namespace mpc

#endif // MPC_NUMERICS_RANGES_BOUND_H
