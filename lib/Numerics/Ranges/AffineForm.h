// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Affine forms: what a number is in terms of others that it shares with other numbers.
#ifndef MPC_LIB_NUMERICS_RANGES_AFFINEFORM_H
#define MPC_LIB_NUMERICS_RANGES_AFFINEFORM_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>

namespace mpc {

/// Real numbers, ends included.
struct RealRange {
  double low = 0, high = 0;
  double magnitude() const;
};

/// A number that is the same wherever it occurs. Smaller ones were defined earlier.
using FormSymbol = unsigned;
using SymbolRanges = llvm::function_ref<RealRange(FormSymbol)>;

/// A factor times symbols, of which each occurs once; without any, the factor alone.
struct FormTerm {
  double factor;
  llvm::SmallVector<FormSymbol, 3> symbols; ///< ascending
};

/// A sum of terms, off by at most `rest`: what roundings added. It is affine in each symbol, so
/// that its range is that of the corners. Factors are exact: an operation that would round one
/// gives no form, as one does that would have a square or too many terms.
class AffineForm {
public:
  static AffineForm ofSymbol(FormSymbol symbol);
  static AffineForm ofNumber(double number);

  llvm::ArrayRef<FormTerm> getTerms() const { return terms; }
  double getRest() const { return rest; }
  bool contains(FormSymbol symbol) const;
  llvm::SmallVector<FormSymbol> symbols() const;

  void addRest(double more);
  AffineForm negated() const;
  std::optional<AffineForm> plus(const AffineForm &other) const;
  std::optional<AffineForm> times(const AffineForm &other, SymbolRanges ranges) const;
  /// With the sum of `first` and `second` in the place of `symbol`.
  std::optional<AffineForm> withSum(FormSymbol symbol, FormSymbol first, FormSymbol second) const;
  /// With `both` in the place of `first` and `second` where a term has both.
  std::optional<AffineForm> withProduct(FormSymbol first, FormSymbol second, FormSymbol both) const;
  /// The numbers that the form may be; NaN or infinite ends where they are too large to say.
  RealRange range(SymbolRanges ranges) const;

private:
  bool addTerm(FormTerm term);
  bool isSmall() const;
  RealRange rangeOfTerms(SymbolRanges ranges) const;

  llvm::SmallVector<FormTerm, 4> terms;
  double rest = 0;
};

} // namespace mpc

#endif // MPC_LIB_NUMERICS_RANGES_AFFINEFORM_H
