// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The subject that rules see, and the report in which they tell what they found.
#ifndef MPC_LIB_NUMERICS_LINT_RULES_H
#define MPC_LIB_NUMERICS_LINT_RULES_H

#include "dialects/mpc/IR/Mpc.h"
#include "mpc/Analysis/LayerPath.h"
#include "mpc/Numerics/Lint/Lint.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringSet.h"

namespace mpc {

/// A module with its ops by name, so that no rule walks it.
class LintSubject {
public:
  LintSubject(mlir::ModuleOp module, const LintContext &options);

  mlir::ModuleOp getModule() const { return module; }
  Device getDevice() const { return options.device; }
  /// All ops of one kind, those in bodies included, in the order of the IR.
  template <typename OpT> llvm::SmallVector<OpT> all() const {
    auto found = ops.find(OpT::getOperationName());
    return found == ops.end() ? llvm::SmallVector<OpT>()
                              : llvm::map_to_vector(found->second, [](mlir::Operation *op) {
                                  return llvm::cast<OpT>(op);
                                });
  }
  /// Whether layers are still there (phase `policy`), so that types are not yet the truth.
  bool hasLayers() const { return ops.contains(LayerOp::getOperationName()); }
  /// Whether the module says how it is trained.
  bool isTrained() const { return ops.contains(OptimizerOp::getOperationName()); }
  /// The function of this name with a body of one block, or null.
  mlir::func::FuncOp getFunction(llvm::StringRef name) const;
  /// The value of the variable that `value` is, as numbers; null where it is none or not known.
  const std::vector<double> *findWeight(mlir::Value value) const;
  const WeightStore *getWeights() const { return options.weights; }

private:
  mlir::ModuleOp module;
  LintContext options;
  llvm::StringMap<llvm::SmallVector<mlir::Operation *>> ops;
  mutable llvm::StringMap<std::vector<double>> numbers;
};

/// Collects what one rule finds.
class LintReport {
public:
  LintReport(const LintRule &rule, llvm::SmallVector<LintFinding> &findings)
      : rule(rule), findings(findings) {}

  /// `text` says what is there; the rule's fix is appended. The same text is told once per layer.
  void tell(mlir::Location place, const llvm::Twine &text);

private:
  const LintRule &rule;
  llvm::SmallVector<LintFinding> &findings;
  llvm::StringSet<> told;
};

/// float16 or bfloat16.
inline bool isNarrow(mlir::Type type) { return type.isF16() || type.isBF16(); }
/// How messages write an element type.
std::string nameOf(mlir::Type type);
/// A number with the digits that tell it from others of its kind.
std::string nameOf(double number);
/// The splat of a floating constant, seen through casts and broadcasts.
std::optional<double> findSplat(mlir::Value value);
/// `value` before ops that only move its elements, repeat or round them, up to the first op that
/// `stop` names.
mlir::Value skipMovement(mlir::Value value, llvm::function_ref<bool(mlir::Operation *)> stop = {});
/// Whether all results of `op`, which may be null, lie in [-1, 1].
bool isWithinOne(mlir::Operation *op);
/// Visits the outputs of @forward in float16 or bfloat16; none before layers are gone.
void forEachNarrowOutput(const LintSubject &subject,
                         llvm::function_ref<void(llvm::StringRef name, mlir::Value output)> visit);

// The rules, each in the file of its name.
extern const LintRule kNarrowSoftmaxRule, kNarrowOutputRule, kNoLossScaleRule,
    kFloat16VariablesRule, kBfloat16VariablesRule, kInfiniteConstantRule, kZeroConstantRule,
    kSmallEpsilonRule, kLongReductionRule, kTinyVarianceRule, kUnguardedExpRule,
    kUnguardedSquareRule, kFloatIdsRule, kTensorCoreDimsRule, kNarrowRegularizerRule,
    kRoundedLabelsRule, kUnusedKeyRule, kNoGainRule, kLostWeightsRule, kIdleLoraRule;

} // namespace mpc

#endif // MPC_LIB_NUMERICS_LINT_RULES_H
