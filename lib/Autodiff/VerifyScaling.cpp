// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mpc-verify-scaling: the exit contract of the phase scaling.
#include "dialects/mpc/IR/Mpc.h"
#include "lib/Autodiff/TrainStages.h"
#include "mpc/Autodiff/Passes.h"

namespace mpc {
#define GEN_PASS_DEF_VERIFYSCALING
#include "mpc/Autodiff/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;

/// Whether a non-finite gradient keeps this new value from taking effect.
static bool isPredicated(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return true; // the old value itself
  if (auto step = dyn_cast<OptimizerStepOp>(op))
    return bool(step.getPredicate());
  return isa<SelectOp, LossScaleUpdateOp>(op);
}

static LogicalResult verifyPredicates(func::FuncOp step) {
  LogicalResult status = success();
  Operation *terminator = step.getBody().front().getTerminator();
  bool tells = false, optimizes = false;
  for (unsigned i = 0; i < step.getNumResults(); ++i) {
    if (auto name = step.getResultAttrOfType<StringAttr>(i, MpcDialect::kOutputAttr))
      tells |= name.getValue() == "finite";
    auto symbol = step.getResultAttrOfType<FlatSymbolRefAttr>(i, MpcDialect::kUpdatesAttr);
    if (!symbol)
      continue;
    auto role = SymbolTable::lookupNearestSymbolFrom<VariableOp>(step, symbol).getRole();
    if (role != VariableRole::Trainable && role != VariableRole::Optimizer)
      continue;
    optimizes = true;
    if (!isPredicated(terminator->getOperand(i)))
      status = step.emitError() << "update of " << symbol << " does not depend on the finite test";
  }
  if (optimizes && !tells)
    status = step.emitError() << "has no output \"finite\" although the loss scale is dynamic";
  return status;
}

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
    auto declarations = module.getOps<LossScaleOp>();
    for (StringRef name : {StringRef("train_step"), StringRef(kApplyStage)}) {
      auto step = module.lookupSymbol<func::FuncOp>(name);
      if (step && !declarations.empty() && (*declarations.begin()).getGrowthSteps() &&
          failed(verifyPredicates(step)))
        failedAny = true;
    }
    if (failedAny)
      signalPassFailure();
  }
};
} // namespace
