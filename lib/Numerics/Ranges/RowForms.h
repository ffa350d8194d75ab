// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products with constant weights make linear forms of the numbers that a row was computed of.
#ifndef MPC_LIB_NUMERICS_RANGES_ROWFORMS_H
#define MPC_LIB_NUMERICS_RANGES_ROWFORMS_H

#include "mpc/Numerics/Ranges/Ranges.h"

namespace mpc {

/// Follows the ops of a function. A row is what lies along the last dimension; each of its elements
/// has an interval of its own here, and may have a form: `center`, factors times numbers of [-1, 1]
/// that stand for the elements of the row of an earlier value, and at most `rest`. So that a form
/// passes a relu, the part of it that relu keeps is taken for a line.
class RowForms {
public:
  explicit RowForms(RangeAnalysis &analysis) : analysis(analysis) {}

  /// Narrows the bound of an op's result; `boundOf` has the operands'.
  void narrow(mlir::Operation &op, llvm::function_ref<const Bound &(mlir::Value)> boundOf,
              Bound &result);
  /// From here on the value is known to lie in the bound.
  void define(mlir::Value value, const Bound &bound);

private:
  /// Longer than double, so that what rounds sums is small beside what rounds the kernels'.
  using Real = long double;

  struct Range {
    Real low, high;
    Real magnitude() const { return std::max(std::abs(low), std::abs(high)); }
    Real middle() const { return (low + high) / 2; }
    Real reach() const { return std::max(high - middle(), middle() - low) * (1 + 0x1p-60L); }
  };
  struct Form {
    mlir::Value source;
    size_t sourceWidth = 0;
    /// A row for each element; in a form of the source's own elements one number for each.
    std::vector<Real> factors;
    std::vector<Real> center, rest;

    bool isDiagonal() const {
      return factors.size() == sourceWidth && center.size() == sourceWidth;
    }
    /// The sum of the magnitudes of an element's factors.
    Real spread(size_t element) const;
    void scale(size_t element, Real factor);
    /// Roundings of this arithmetic itself.
    void addOwnRoundings();
  };
  struct Row {
    std::vector<Range> ranges;
    std::shared_ptr<const Form> form; ///< may be null
  };
  using BoundOf = llvm::function_ref<const Bound &(mlir::Value)>;

  std::optional<Row> contract(ContractOp op, const Bound &weights);
  std::optional<Row> compute(mlir::Operation &op, BoundOf boundOf, const Bound &whole);
  std::shared_ptr<Form> combine(mlir::Operation &op, const Row &computed);
  std::shared_ptr<Form> add(const Form &a, const Form &b, Real sign) const;
  /// The ranges of a value's elements along a row of this width.
  std::vector<Range> rangesOf(mlir::Value value, size_t width) const;
  std::shared_ptr<const Form> formOf(mlir::Value value) const;
  /// A form whose source is the value itself.
  std::shared_ptr<Form> ownForm(mlir::Value value) const;
  /// The form of a factor of a product, of the value behind its casts where it has none.
  std::shared_ptr<const Form> formOfFactor(mlir::Value value) const;
  static void keepPositive(Row &row, Form *form);
  static void round(mlir::Type type, Row &row, Form *form, Real tiny);
  static void narrowByForm(Row &row, const Form &form);

  RangeAnalysis &analysis;
  llvm::DenseMap<mlir::Value, Row> rows;
  llvm::DenseMap<mlir::Value, Bound> bounds;
  std::optional<Row> pending; ///< of the op that was narrowed last
};

} // namespace mpc

#endif // MPC_LIB_NUMERICS_RANGES_ROWFORMS_H
