// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Training through float16 without a loss scale.
#include "lib/Numerics/Lint/Rules.h"

using namespace mlir;
using namespace mpc;

/// A scale of the optimizer's own (loss_scale_factor) counts.
static bool hasScale(const LintSubject &subject) {
  return !subject.all<LossScaleOp>().empty() ||
         llvm::any_of(subject.all<OptimizerOp>(),
                      [](OptimizerOp optimizer) { return optimizer.getStaticScale().has_value(); });
}

static void checkNoLossScale(const LintSubject &subject, LintReport &report) {
  if (!subject.isTrained() || hasScale(subject))
    return;
  bool isMixed = false, isPure = false;
  for (LayerOp layer : subject.all<LayerOp>()) {
    std::optional<PrecisionAttr> precision = layer.getPrecision();
    if (!precision || layer.getVariables().empty() || !precision->getCompute().isF16())
      continue;
    isMixed |= precision->getVariable().isF32();
    isPure |= precision->getVariable().isF16();
  }
  // Keras adds no scale to pure float16, and neither does mpc.
  if (isPure)
    report.tell(subject.getModule().getLoc(),
                "pure float16 trains without loss scaling, as in Keras: "
                "small gradients become 0");
  else if (isMixed)
    report.tell(subject.getModule().getLoc(),
                "layers of float16 train without loss scaling: small gradients become 0");
}

const LintRule mpc::kNoLossScaleRule = {
    "no-loss-scale",
    "training with layers that compute in float16 and no loss scale; told always, but where "
    "`--loss-scale=none` asks for it",
    "gradients below 6e-8 become 0, and whole layers stop learning",
    "use mixed_float16, or --loss-scale=dynamic:32768:2000",
    /*isAlwaysTold=*/true,
    checkNoLossScale,
};
