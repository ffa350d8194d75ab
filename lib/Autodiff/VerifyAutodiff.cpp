// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mpc-verify-autodiff: the exit contract of the phase autodiff.
#include "dialects/mpc/IR/Mpc.h"
#include "mpc/Analysis/EntryRole.h"
#include "mpc/Analysis/GraphContract.h"
#include "mpc/Autodiff/Passes.h"

namespace mpc {
#define GEN_PASS_DEF_VERIFYAUTODIFF
#include "mpc/Autodiff/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;

/// Inputs, targets, then variables, each once; outputs, then updates, each once.
static LogicalResult verifyEntry(func::FuncOp entry) {
  LogicalResult status = success();
  llvm::DenseSet<Attribute> seen;
  int stage = 0;
  auto check = [&](unsigned i, StringRef what, ArrayRef<Attribute> kinds) {
    for (auto [kind, name] : llvm::enumerate(kinds)) {
      if (!name)
        continue;
      if (int(kind) < stage)
        status = entry.emitError() << what << " " << i << " is out of order: " << name;
      if (!seen.insert(name).second)
        status = entry.emitError() << what << " " << i << " repeats " << name;
      stage = std::max(stage, int(kind));
      return;
    }
    status = entry.emitError() << what << " " << i << " has no name";
  };
  for (unsigned i = 0; i < entry.getNumArguments(); ++i)
    check(i, "argument",
          {entry.getArgAttr(i, MpcDialect::kInputAttr),
           entry.getArgAttr(i, MpcDialect::kTargetAttr),
           entry.getArgAttr(i, MpcDialect::kVariableAttr)});
  seen.clear();
  stage = 0;
  for (unsigned i = 0; i < entry.getNumResults(); ++i)
    check(i, "result",
          {entry.getResultAttr(i, MpcDialect::kOutputAttr),
           entry.getResultAttr(i, MpcDialect::kUpdatesAttr)});
  return status;
}

namespace {
struct VerifyAutodiffPass : mpc::impl::VerifyAutodiffBase<VerifyAutodiffPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    bool failedAny = false;
    for (StringRef name : {"forward", "loss"})
      if (auto function = module.lookupSymbol<func::FuncOp>(name)) {
        function.emitError() << "@" << name << " must not be left after mpc-differentiate";
        failedAny = true;
      }
    if (!findEntry(module, EntryRole::Predict)) {
      module.emitError() << "has no entry @predict";
      failedAny = true;
    }
    module.walk([&](Operation *op) { failedAny |= failed(verifyElements(op)); });
    module.walk([&](LayerOp layer) {
      layer.emitError() << "mpc.layer must not be left after mpc-insert-casts";
      failedAny = true;
    });
    for (func::FuncOp function : module.getOps<func::FuncOp>())
      if (isEntry(function) && failed(verifyEntry(function)))
        failedAny = true;
    if (failedAny)
      signalPassFailure();
  }
};
} // namespace
