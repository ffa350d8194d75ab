// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The checker's own account of what values have in common with others that were computed before.
#ifndef MPC_TOOLS_MPC_CHECK_CERTIFICATE_SHARING_H
#define MPC_TOOLS_MPC_CHECK_CERTIFICATE_SHARING_H

#include "tools/mpc-check-certificate/Fact.h"
#include "llvm/ADT/DenseMap.h"
#include <map>
#include <optional>
#include <set>
#include <vector>

namespace mpc::check {

/// Names a number: an element of a value, or what is said of two of them. Names grow in the order
/// of definitions.
using Name = unsigned;
/// Products of names, each once, with their factors.
using Polynomial = std::map<std::set<Name>, Real>;

struct Interval {
  Real low = 0, high = 0;
  Real size() const { return std::max(std::fabs(low), std::fabs(high)); }
};

/// A polynomial, and how far roundings may have led from it.
struct Expression {
  Polynomial terms;
  Real off = 0;
};

using FactOf = llvm::function_ref<Fact(mlir::Value)>;

/// Values of a block, taken one after the other.
class Sharing {
public:
  /// As inference has them, or as training has.
  explicit Sharing(bool training) : training(training) {}

  /// Narrows what an op alone gives of a number that it reads in two places, of which `factOf` says
  /// more.
  void narrowByParts(mlir::Operation &op, FactOf factOf, llvm::MutableArrayRef<Fact> results);
  /// Narrows it by what its operands have in common.
  void narrowByForm(mlir::Operation &op, llvm::MutableArrayRef<Fact> results);
  /// From here on the value is known to be in `fact`.
  void settle(mlir::Value value, const Fact &fact);

private:
  enum : Name { Itself, Excess, Product, Kinds };

  Name nameOf(mlir::Value value, Name kind = Itself) const {
    return order.lookup(value) * Kinds + kind;
  }
  bool isKnown(mlir::Value value) const { return facts.count(value) != 0; }
  /// The value as this kind of run has it.
  mlir::Value asRun(mlir::Value value) const;
  std::optional<Expression> express(mlir::Operation &op) const;
  std::optional<Expression> combine(mlir::Operation &op, Expression a, Expression b) const;
  Expression rewrite(Expression expression) const;
  Interval rangeOf(const Polynomial &polynomial) const;
  Interval rangeOf(const Expression &expression) const;
  void settleCenter(mlir::Value value);
  void settleRoot(RsqrtOp root);

  bool training;
  llvm::DenseMap<mlir::Value, Name> order;
  llvm::DenseMap<mlir::Value, Fact> facts;
  llvm::DenseMap<mlir::Value, Expression> expressions;
  llvm::DenseMap<mlir::Value, Expression> pending; ///< of values that are not settled yet
  std::map<Name, Interval> intervals;
  std::map<Name, Name> inputs;                    ///< of means and extremes
  std::map<std::pair<Name, Name>, Name> products; ///< that have an interval of their own
  llvm::DenseMap<mlir::Operation *, unsigned> blockPlaces;
};

} // namespace mpc::check

#endif // MPC_TOOLS_MPC_CHECK_CERTIFICATE_SHARING_H
