// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Exponentials in float16 of what nothing bounds.
#include "lib/Numerics/Lint/Rules.h"

using namespace mlir;
using namespace mpc;

/// e^x is beyond float16 from here on: log(65520).
static constexpr double kLargest = 11.0899;

/// Whether `value` is at most `bound`, as far as the ops that make it say.
static bool isAtMost(Value value, double bound, unsigned depth = 8) {
  value = skipMovement(value);
  if (std::optional<double> constant = findSplat(value))
    return *constant <= bound;
  Operation *op = value.getDefiningOp();
  if (!op || depth == 0)
    return false;
  auto atMost = [&](unsigned operand) {
    return isAtMost(op->getOperand(operand), bound, depth - 1);
  };
  if (isa<MinimumOp>(op))
    return atMost(0) || atMost(1);
  if (isa<MaximumOp>(op))
    return atMost(0) && atMost(1);
  if (isa<SelectOp>(op))
    return atMost(1) && atMost(2);
  if (isWithinOne(op))
    return bound >= 1;
  if (isa<LogSoftmaxOp>(op))
    return bound >= 0;
  // -|x|, -x^2, -softplus(x) …
  if (auto negate = dyn_cast<NegateOp>(op)) {
    Operation *inner = negate.getInput().getDefiningOp();
    auto square = dyn_cast_or_null<MultiplyOp>(inner);
    return bound >= 0 && inner &&
           (isa<AbsOp, ReluOp, SoftplusOp, ExpOp, SqrtOp>(inner) ||
            (square && square.getLhs() == square.getRhs()));
  }
  // x less the maximum of x, or log(sum(e^x)), which is no smaller.
  if (auto difference = dyn_cast<SubtractOp>(op)) {
    Operation *top = skipMovement(difference.getRhs()).getDefiningOp();
    if (auto reduce = dyn_cast_or_null<ReduceOp>(top))
      return bound >= 0 && reduce.getKind() == ReduceKind::Max &&
             skipMovement(reduce.getInput()) == skipMovement(difference.getLhs());
    // A logarithm of a sum of exponentials, to which the maximum was added again.
    if (auto sum = dyn_cast_or_null<AddOp>(top))
      return bound >= 0 && llvm::any_of(sum->getOperands(), [](Value part) {
               return bool(skipMovement(part).getDefiningOp<LogOp>());
             });
    return bound >= 0 && isa_and_nonnull<LogOp>(top);
  }
  return false;
}

template <typename OpT>
static void checkEachUnguardedExp(const LintSubject &subject, LintReport &report) {
  for (OpT op : subject.all<OpT>())
    if (elementTypeOf(op.getInput()).isF16() && !isAtMost(op.getInput(), kLargest))
      report.tell(op.getLoc(), "e^x in f16 of a number that nothing keeps below 11.09");
}

static void checkUnguardedExp(const LintSubject &subject, LintReport &report) {
  checkEachUnguardedExp<ExpOp>(subject, report);
  checkEachUnguardedExp<Expm1Op>(subject, report);
}

const LintRule mpc::kUnguardedExpRule = {
    "unguarded-exp",
    "exp in float16 of a value that no clip, maximum or bounded function keeps below 11.09",
    "e^11.1 is infinite in float16",
    "clip its argument, or give the layer the policy float32 or mixed_bfloat16",
    /*isAlwaysTold=*/false,
    checkUnguardedExp,
};
