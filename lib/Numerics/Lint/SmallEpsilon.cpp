// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An epsilon that float16 holds as a subnormal number only.
#include "lib/Numerics/Lint/Rules.h"

using namespace mlir;
using namespace mpc;

/// Whether `value` is divided by, or its root or logarithm is taken.
static bool guardsSingularity(Value value) {
  return llvm::any_of(value.getUses(), [](OpOperand &use) {
    Operation *user = use.getOwner();
    if (isa<ReshapeOp, BroadcastLikeOp, TransposeOp>(user))
      return guardsSingularity(user->getResult(0));
    return isa<RsqrtOp, SqrtOp, LogOp>(user) ||
           (isa<DivideOp>(user) && use.getOperandNumber() == 1);
  });
}

/// Statistics of the data that a layer was adapted to: their size is known, and not that of a
/// batch.
static bool isWeight(Value value) {
  value = skipMovement(value);
  while (auto root = value.getDefiningOp<SqrtOp>())
    value = skipMovement(root.getInput());
  auto argument = dyn_cast<BlockArgument>(value);
  auto function =
      argument ? dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp()) : func::FuncOp();
  return value.getDefiningOp<ConstantOp>() ||
         (function && function.getArgAttr(argument.getArgNumber(), MpcDialect::kVariableAttr));
}

template <typename OpT>
static void checkEachSmallEpsilon(const LintSubject &subject, LintReport &report) {
  for (OpT op : subject.all<OpT>()) {
    if (!elementTypeOf(op.getResult()).isF16() || !guardsSingularity(op.getResult()))
      continue;
    if (isWeight(op.getLhs()) && isWeight(op.getRhs()))
      continue;
    for (Value operand : op->getOperands()) {
      std::optional<double> epsilon = findSplat(operand);
      if (epsilon && *epsilon > 0 && *epsilon < 0x1p-14)
        report.tell(op.getLoc(), "its epsilon " + nameOf(*epsilon) +
                                     " is below the smallest normal number of f16 (6.1e-05)");
    }
  }
}

static void checkSmallEpsilon(const LintSubject &subject, LintReport &report) {
  checkEachSmallEpsilon<AddOp>(subject, report);
  checkEachSmallEpsilon<MaximumOp>(subject, report);
}

const LintRule mpc::kSmallEpsilonRule = {
    "small-epsilon",
    "an epsilon under a division, root or logarithm in float16 that is below 6.1e-5",
    "it has few digits, adding it to a number above 0.25 changes nothing, and 1 over it is "
    "infinite",
    "give the layer the policy float32, or an epsilon of 1e-3",
    /*isAlwaysTold=*/false,
    checkSmallEpsilon,
};
