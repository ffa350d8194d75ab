// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The checker's account of rows: what products with known weights make of the numbers along the
// last dimension, element by element.
#ifndef MPC_TOOLS_MPC_CHECK_CERTIFICATE_ROWSTEPS_H
#define MPC_TOOLS_MPC_CHECK_CERTIFICATE_ROWSTEPS_H

#include "tools/mpc-check-certificate/Sharing.h"

namespace mpc::check {

/// A number as a sum: `middle`, at most each of `parts` times a number of [-1, 1] that an element
/// of an origin's row stands for, and at most `off`.
struct Line {
  std::vector<std::pair<unsigned, Real>> parts;
  Real middle = 0, off = 0;

  Real reach() const;
  void multiply(Real factor);
  /// The roundings of 64 digits.
  void allow() { off += (std::fabs(middle) + reach()) * std::ldexp(Real(1), -60); }
};

/// The lines of a row, all of one origin.
struct Lines {
  mlir::Value origin;
  std::vector<Line> of;
  bool isOrigin = false; ///< of the origin's own elements, maybe cast
};

/// Values of a function, taken one after the other.
class Rows {
public:
  /// Narrows what an op's only result may be.
  void narrow(mlir::Operation &op, FactOf factOf, Fact &result);
  /// From here on the value is known to be in `fact`.
  void settle(mlir::Value value, const Fact &fact);

private:
  struct Row {
    std::vector<Interval> elements;
    std::shared_ptr<const Lines> lines; ///< null: only the elements' intervals are known
  };

  bool multiply(ContractOp op, const ReferenceTensor &weights, Row &row) const;
  bool compute(mlir::Operation &op, FactOf factOf, const Fact &whole, Row &row) const;
  std::shared_ptr<Lines> express(mlir::Operation &op, size_t width) const;
  Interval element(mlir::Value value, size_t index) const;
  std::shared_ptr<const Lines> linesOf(mlir::Value value) const;
  std::shared_ptr<Lines> originLines(mlir::Value value) const;
  std::shared_ptr<const Lines> linesBehind(mlir::Value value) const;

  std::map<void *, Row> rows;
  llvm::DenseMap<mlir::Value, Fact> facts;
  std::optional<Row> next; ///< of the value that is settled next
};

} // namespace mpc::check

#endif // MPC_TOOLS_MPC_CHECK_CERTIFICATE_ROWSTEPS_H
