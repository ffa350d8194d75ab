// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The proof follows values from the updates up: to a select, a step or a scale's update whose
// condition is false when the finite test is.
#include "mpc/Analysis/FiniteTest.h"
#include "dialects/mpc/IR/Mpc.h"
#include "mpc/Analysis/EntryRole.h"

using namespace mlir;
using namespace mpc;

namespace {
class Proof {
public:
  Proof(func::FuncOp step, Value finite) : step(step), finite(finite) {}

  /// Whether `value`, new for `symbol`, is what it would be without the gradients when they are not
  /// finite.
  bool isPredicated(Value value, FlatSymbolRefAttr symbol) {
    if (isVariable(value, symbol))
      return true;
    if (auto optimizer = value.getDefiningOp<OptimizerStepOp>())
      return optimizer.getPredicate() && isFalseWithoutFinite(optimizer.getPredicate()) &&
             isUntouched(optimizer.getVariable()) &&
             llvm::all_of(optimizer.getSlots(), isUntouched);
    if (auto select = value.getDefiningOp<SelectOp>())
      return isFalseWithoutFinite(select.getCondition()) && isUntouched(select.getOnFalse());
    auto scale = value.getDefiningOp<LossScaleUpdateOp>();
    return scale && scale.getFinite() == finite;
  }

private:
  bool isVariable(Value value, FlatSymbolRefAttr symbol) {
    auto argument = dyn_cast<BlockArgument>(value);
    return argument && argument.getOwner() == &step.getBody().front() &&
           step.getArgAttr(argument.getArgNumber(), MpcDialect::kVariableAttr) == symbol;
  }

  bool isFalseWithoutFinite(Value condition) {
    if (condition == finite) // which is null where there is none
      return true;
    auto both = condition.getDefiningOp<LogicalAndOp>();
    return both && (isFalseWithoutFinite(both.getLhs()) || isFalseWithoutFinite(both.getRhs()));
  }

  /// Whether no optimizer has a part in `value`: what the call was given, or what the forward pass
  /// made of it.
  static bool isUntouched(Value value) {
    SmallVector<Value> pending{value};
    llvm::DenseSet<Value> seen;
    while (!pending.empty()) {
      Operation *op = pending.pop_back_val().getDefiningOp();
      if (!op)
        continue;
      if (isa<OptimizerStepOp>(op))
        return false;
      for (Value operand : op->getOperands())
        if (seen.insert(operand).second)
          pending.push_back(operand);
    }
    return true;
  }

  func::FuncOp step;
  Value finite;
};
} // namespace

/// The finite test of a step: the output that tells it, or what the last stage takes. Null where
/// there is none, or where what it is called tests nothing.
static Value findFiniteTest(func::FuncOp step) {
  if (entryRoleOf(step) == EntryRole::TrainApply) {
    for (BlockArgument argument : step.getArguments())
      if (auto name =
              step.getArgAttrOfType<StringAttr>(argument.getArgNumber(), MpcDialect::kInputAttr);
          name && name.getValue() == kFinite)
        return argument;
    return {};
  }
  Operation *terminator = step.getBody().front().getTerminator();
  for (unsigned i = 0; i < step.getNumResults(); ++i)
    if (auto name = step.getResultAttrOfType<StringAttr>(i, MpcDialect::kOutputAttr);
        name && name.getValue() == kFinite)
      if (auto test = terminator->getOperand(i).getDefiningOp<AllFiniteOp>())
        return test;
  return {};
}

static LogicalResult verifyStep(func::FuncOp step) {
  if (step.isExternal() || !llvm::hasSingleElement(step.getBody()))
    return step.emitError() << "@" << step.getSymName() << " has no body of one block";
  Value finite = findFiniteTest(step);
  LogicalResult status = success();
  Operation *terminator = step.getBody().front().getTerminator();
  bool optimizes = false;
  for (unsigned i = 0; i < step.getNumResults(); ++i) {
    auto symbol = step.getResultAttrOfType<FlatSymbolRefAttr>(i, MpcDialect::kUpdatesAttr);
    auto variable =
        symbol ? SymbolTable::lookupNearestSymbolFrom<VariableOp>(step, symbol) : VariableOp();
    if (!variable || (variable.getRole() != VariableRole::Trainable &&
                      variable.getRole() != VariableRole::Optimizer))
      continue;
    optimizes = true;
    if (!Proof(step, finite).isPredicated(terminator->getOperand(i), symbol))
      status = step.emitError() << "update of " << symbol << " does not depend on the finite test";
  }
  if (optimizes && !finite)
    return step.emitError() << "has no "
                            << (entryRoleOf(step) == EntryRole::TrainApply ? "input" : "output")
                            << " \"finite\" that is the finite test of its gradients, although the "
                               "loss scale is dynamic";
  return status;
}

LogicalResult mpc::verifyFiniteTests(ModuleOp module) {
  auto declarations = module.getOps<LossScaleOp>();
  if (declarations.empty() || !(*declarations.begin()).getGrowthSteps())
    return success();
  LogicalResult status = success();
  for (EntryRole role : {EntryRole::TrainStep, EntryRole::TrainApply})
    if (func::FuncOp step = findEntry(module, role); step && failed(verifyStep(step)))
      status = failure();
  return status;
}
