// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A fact is what the checker knows of a value. Nothing of it is shared with the analysis that it
// checks, and its numbers have 64 binary digits where the analysis has 53.
#ifndef MPC_TOOLS_MPC_CHECK_CERTIFICATE_FACT_H
#define MPC_TOOLS_MPC_CHECK_CERTIFICATE_FACT_H

#include "dialects/mpc/IR/Mpc.h"
#include <cmath>
#include <limits>
#include <memory>

namespace mpc::check {

using Real = long double;

inline constexpr Real kInfinite = std::numeric_limits<Real>::infinity();

struct Fact {
  Real low = -kInfinite, high = kInfinite;
  bool nan = true;
  Real error = kInfinite;
  std::shared_ptr<const ReferenceTensor> elements; ///< of weights and constants

  Real size() const { return std::max(std::fabs(low), std::fabs(high)); }
  bool isBounded() const { return !nan && std::isfinite(low) && std::isfinite(high); }
  bool hasZero() const { return low <= 0 && high >= 0; }
};

/// A range without NaN.
inline Fact between(Real low, Real high, Real error = 0) {
  return {low, high, false, error, nullptr};
}
/// The fact that is true of every value of the type.
Fact anything(mlir::Type type);
/// Every finite number of the type.
Fact anyNumber(mlir::Type type);
/// The range of these elements.
Fact ofElements(std::shared_ptr<const ReferenceTensor> elements);
/// One or the other.
Fact either(const Fact &a, const Fact &b);

/// The nearest number of a floating type, ties to even.
Real nearest(mlir::Type type, Real value);
/// Its neighbour towards infinity (`up`) or minus infinity.
Real neighbour(mlir::Type type, Real value, bool up);
/// `fact`, of a real number that the op's arithmetic gave, after it was stored in `type`.
Fact stored(Fact fact, mlir::Type type);
/// The same of a number that was stored before: where its bound lies between two numbers of `type`,
/// the rounding of ties decides.
Fact rounded(Fact fact, mlir::Type type);

/// Half the distance of the type's numbers of this size.
Real halfUnit(mlir::Type type, Real size);
/// The most that storing a number of this size changes, also where kernels round to a wider type
/// first.
Real roundingOf(mlir::Type type, Real size);

/// Relative: what functions and sums of kernels may be off (docs/decisions/0083-proved-ranges.md).
Real slackOfFunctions(mlir::Type type);
Real slackOfSums(mlir::Type type, Real terms);
/// The largest number of the type that holds sums.
Real largestSum(mlir::Type type);

/// Derives the results of an op. Ops that it does not know have anything.
/// `training`: what only training computes counts.
void derive(mlir::Operation *op, bool training, llvm::ArrayRef<Fact> operands,
            llvm::MutableArrayRef<Fact> results);
/// Families of ops, in the files of these names; false: none of the family.
bool deriveElementwise(mlir::Operation *op, llvm::ArrayRef<Fact> in, Fact &result);
bool deriveSums(mlir::Operation *op, llvm::ArrayRef<Fact> in, llvm::MutableArrayRef<Fact> results);
bool deriveMoves(mlir::Operation *op, bool training, llvm::ArrayRef<Fact> in, Fact &result);

} // namespace mpc::check

#endif // MPC_TOOLS_MPC_CHECK_CERTIFICATE_FACT_H
