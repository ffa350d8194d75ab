// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sums and means over more elements than float16 can count.
#include "lib/Numerics/Lint/Rules.h"

using namespace mlir;
using namespace mpc;

static void checkLongReduction(const LintSubject &subject, LintReport &report) {
  for (ReduceOp reduce : subject.all<ReduceOp>()) {
    auto input = tensorTypeOf(reduce.getInput());
    if (!input.getElementType().isF16())
      continue;
    int64_t count = 1;
    for (int64_t axis : reduce.getAxes())
      // The batch is small beside what the format holds.
      count *= input.isDynamicDim(axis) ? 1 : input.getDimSize(axis);
    if (count <= 65504)
      continue;
    if (reduce.getKind() == ReduceKind::Sum)
      report.tell(reduce.getLoc(), "a sum of " + llvm::Twine(count) +
                                       " elements in f16 is infinite where their mean is above 1");
    if (reduce.getKind() == ReduceKind::Mean && subject.isTrained())
      report.tell(reduce.getLoc(),
                  "a mean of " + llvm::Twine(count) +
                      " elements in f16 divides its gradient by more than f16 holds");
  }
}

const LintRule mpc::kLongReductionRule = {
    "long-reduction",
    "a sum, or a mean in training, over more than 65504 elements in float16",
    "mpc sums in float32 and rounds once, but the sum itself is beyond float16, and the gradient "
    "of the "
    "mean is below its normal numbers",
    "give the layer the policy float32",
    /*isAlwaysTold=*/false,
    checkLongReduction,
};
