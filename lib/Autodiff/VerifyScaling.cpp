// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mpc-verify-scaling: the exit contract of the phase scaling.
#include "dialects/mpc/IR/Mpc.h"
#include "mpc/Analysis/FiniteTest.h"
#include "mpc/Autodiff/Passes.h"

namespace mpc {
#define GEN_PASS_DEF_VERIFYSCALING
#include "mpc/Autodiff/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;

namespace {
struct VerifyScalingPass : mpc::impl::VerifyScalingBase<VerifyScalingPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    bool failedAny = false;
    module.walk([&](Operation *op) {
      if (isa<GradientSeedOp, VariableGradientOp>(op)) {
        op->emitError() << op->getName() << " must not be left after mpc-scale-loss";
        failedAny = true;
      }
    });
    failedAny |= failed(verifyFiniteTests(module));
    if (failedAny)
      signalPassFailure();
  }
};
} // namespace
