// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Trained variables of bfloat16: there is no float32 copy that small updates add up in.
#include "lib/Numerics/Lint/Rules.h"

using namespace mlir;
using namespace mpc;

static void checkBfloat16Variables(const LintSubject &subject, LintReport &report) {
  if (!subject.isTrained())
    return;
  for (LayerOp layer : subject.all<LayerOp>()) {
    std::optional<PrecisionAttr> precision = layer.getPrecision();
    if (!precision || layer.getVariables().empty() || !precision->getVariable().isBF16())
      continue;
    return report.tell(subject.getModule().getLoc(),
                       "pure bfloat16 trains variables of 8 binary digits, as in Keras: updates "
                       "below 1/512 of a weight are lost");
  }
}

const LintRule mpc::kBfloat16VariablesRule = {
    "bfloat16-variables",
    "training of variables that are stored in bfloat16",
    "an update below half a unit of the weight changes nothing: training stops early",
    "use mixed_bfloat16",
    /*isAlwaysTold=*/true,
    checkBfloat16Variables,
};
