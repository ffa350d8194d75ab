// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Hazards of precision that the IR shows before anything runs: one table of rules (docs/lint.md).
#ifndef MPC_NUMERICS_LINT_LINT_H
#define MPC_NUMERICS_LINT_LINT_H

#include "mlir/IR/BuiltinOps.h"
#include "mpc/Support/Device.h"
#include "mpc/Support/WeightStore.h"
#include "llvm/ADT/ArrayRef.h"
#include <string>

namespace mpc {

class LintSubject;
class LintReport;

/// One hazard. A rule is an object in a file of its own.
struct LintRule {
  llvm::StringLiteral name;
  llvm::StringLiteral finds; ///< what it looks for
  llvm::StringLiteral why;   ///< what goes wrong
  llvm::StringLiteral fix;   ///< what to do; ends each message
  /// Told without --lint, too: what it finds is wrong whatever the data.
  bool isAlwaysTold;
  /// Null: the pass `foundBy` warns while it decides.
  void (*check)(const LintSubject &subject, LintReport &report);
  llvm::StringLiteral foundBy = "mpc-lint";
};

/// All rules, in the order of docs/lint.md.
llvm::ArrayRef<const LintRule *> lintRules();
/// The rule of this name, or null.
const LintRule *findLintRule(llvm::StringRef name);

struct LintFinding {
  const LintRule *rule;
  mlir::Location place; ///< names the layer or variable
  std::string text;     ///< ends with what to do
};

/// Beside the IR.
struct LintContext {
  Device device = Device::cpu;
  const WeightStore *weights = nullptr; ///< null: rules that need values find nothing
};

/// The findings of all rules in IR of the phases `policy` (rules on layers) or `casts` (rules on
/// types), in the order of the table and then of the IR. Linear in the number of ops and weights.
llvm::SmallVector<LintFinding> lint(mlir::ModuleOp module, const LintContext &context);

/// Warns of each, with its name, and tells it as a remark of the category mpc-lint.
void emitFindings(llvm::ArrayRef<LintFinding> findings);

/// The text of docs/lint.md.
std::string describeLintRules();

} // namespace mpc

#endif // MPC_NUMERICS_LINT_LINT_H
