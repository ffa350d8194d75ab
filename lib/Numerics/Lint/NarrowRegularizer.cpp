// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Regularizers of variables of 16 bits.
#include "lib/Numerics/Lint/Rules.h"

using namespace mlir;
using namespace mpc;

static void checkNarrowRegularizer(const LintSubject &subject, LintReport &report) {
  // The types of variables are the truth behind the casts.
  if (!subject.isTrained() || subject.hasLayers())
    return;
  for (VariableOp variable : subject.all<VariableOp>()) {
    Type element = getElementTypeOrSelf(variable.getType());
    if (variable.getRegularizer() && variable.getRole() == VariableRole::Trainable &&
        isNarrow(element))
      report.tell(variable.getLoc(), "the regularizer of " + variable.getSymName() +
                                         " acts on a variable of " + nameOf(element));
  }
}

const LintRule mpc::kNarrowRegularizerRule = {
    "narrow-regularizer",
    "a regularizer of a variable that is stored in 16 bits",
    "what it takes off a weight in a step is below half a unit of the weight, and is lost",
    "use mixed_float16 or mixed_bfloat16, which keep the variable in float32",
    /*isAlwaysTold=*/false,
    checkNarrowRegularizer,
};
