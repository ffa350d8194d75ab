// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A softmax that leaves the model in 16 bits.
#include "lib/Numerics/Lint/Rules.h"

using namespace mlir;
using namespace mpc;

static void checkNarrowSoftmax(const LintSubject &subject, LintReport &report) {
  forEachNarrowOutput(subject, [&](StringRef name, Value output) {
    if (auto softmax = skipMovement(output).getDefiningOp<SoftmaxOp>())
      report.tell(softmax.getLoc(),
                  "the output \"" + name + "\" is a softmax in " + nameOf(elementTypeOf(output)));
  });
}

const LintRule mpc::kNarrowSoftmaxRule = {
    "narrow-softmax",
    "a softmax in 16 bits whose result is an output (only with `--output-guard=off`)",
    "probabilities below 6e-8 are 0 in float16, and bfloat16 has 3 digits: losses of their "
    "logarithms "
    "are infinite or coarse",
    "give the layer the policy float32, or leave the output guard on",
    /*isAlwaysTold=*/false,
    checkNarrowSoftmax,
};
