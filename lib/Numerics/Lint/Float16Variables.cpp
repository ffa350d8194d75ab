// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Trained variables of float16: there is no float32 copy that small updates add up in.
#include "lib/Numerics/Lint/Rules.h"

using namespace mlir;
using namespace mpc;

static void checkFloat16Variables(const LintSubject &subject, LintReport &report) {
  if (!subject.isTrained())
    return;
  for (LayerOp layer : subject.all<LayerOp>()) {
    std::optional<PrecisionAttr> precision = layer.getPrecision();
    if (!precision || layer.getVariables().empty() || !precision->getVariable().isF16())
      continue;
    return report.tell(subject.getModule().getLoc(),
                       "float16 variables are trained without a float32 copy, as in Keras: updates "
                       "below 1/4096 of a weight are lost");
  }
}

const LintRule mpc::kFloat16VariablesRule = {
    "float16-variables",
    "training of variables that are stored in float16",
    "an update below half a unit of the weight changes nothing, and slots of the optimizer "
    "(squares of gradients) become 0",
    "use mixed_float16",
    /*isAlwaysTold=*/false,
    checkFloat16Variables,
};
