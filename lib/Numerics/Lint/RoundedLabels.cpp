// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Labels and weights of samples that a loss rounds.
#include "lib/Numerics/Lint/Rules.h"
#include <cmath>

using namespace mlir;
using namespace mpc;

/// Integers from 0 to here are exact in the type.
static double exactIntegers(FloatType type) {
  return std::ldexp(1, int(llvm::APFloat::semanticsPrecision(type.getFloatSemantics())));
}

static bool rounds(Type from, FloatType to, IntegerAttr limit) {
  if (auto floating = dyn_cast<FloatType>(from))
    return floating.getWidth() > to.getWidth();
  const double bound = limit ? limit.getValue().signedRoundToDouble()
                             : std::ldexp(1, int(from.getIntOrFloatBitWidth()));
  // Labels of 32 and 64 bits without a bound are counts and classes as a rule.
  return bound > exactIntegers(to) && (limit || to.getWidth() < 32);
}

static void checkRoundedLabels(const LintSubject &subject, LintReport &report) {
  func::FuncOp loss = subject.getFunction("loss");
  if (!loss)
    return;
  for (BlockArgument argument : loss.getArguments()) {
    const unsigned index = argument.getArgNumber();
    auto target = loss.getArgAttrOfType<StringAttr>(index, MpcDialect::kTargetAttr);
    if (!target)
      continue;
    auto limit = loss.getArgAttrOfType<IntegerAttr>(index, MpcDialect::kIndexLimitAttr);
    for (Operation *user : argument.getUsers()) {
      auto cast = dyn_cast<CastOp>(user);
      auto to = cast ? dyn_cast<FloatType>(elementTypeOf(cast.getResult())) : FloatType();
      if (to && rounds(elementTypeOf(argument), to, limit))
        report.tell(cast.getLoc(), "the loss rounds \"" + target.getValue() + "\" from " +
                                       nameOf(elementTypeOf(argument)) + " to " + nameOf(to));
    }
  }
}

const LintRule mpc::kRoundedLabelsRule = {
    "rounded-labels",
    "a loss that casts labels, or weights of samples and classes, to a dtype that does not hold "
    "them",
    "the model learns other targets than those given",
    "compute the loss in float32",
    /*isAlwaysTold=*/false,
    checkRoundedLabels,
};
