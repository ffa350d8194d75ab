// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Outputs that are narrower than float32.
#include "lib/Numerics/Lint/Rules.h"

using namespace mlir;
using namespace mpc;

static void checkNarrowOutput(const LintSubject &subject, LintReport &report) {
  forEachNarrowOutput(subject, [&](StringRef name, Value output) {
    // A softmax is told by its own rule.
    if (!skipMovement(output).getDefiningOp<SoftmaxOp>())
      report.tell(output.getLoc(),
                  "the output \"" + name + "\" is " + nameOf(elementTypeOf(output)));
  });
}

const LintRule mpc::kNarrowOutputRule = {
    "narrow-output",
    "an output below float32 (only with `--output-guard=off`)",
    "the loss, metrics and whoever reads the output get numbers of 11 or 8 binary digits",
    "give the last layer the policy float32, or leave the output guard on",
    /*isAlwaysTold=*/false,
    checkNarrowOutput,
};
