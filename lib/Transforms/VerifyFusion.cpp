// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mpc-verify-fusion: the exit contract of the phase `fusion`.
#include "dialects/mpc/IR/Mpc.h"
#include "mpc/Analysis/EntryRole.h"
#include "mpc/Analysis/FiniteTest.h"
#include "mpc/Transforms/Passes.h"

namespace mpc {
#define GEN_PASS_DEF_VERIFYFUSION
#include "mpc/Transforms/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;

/// Whether `copy` is `value` in the copy's element type, as mpc-shadow-weights writes it.
static bool isCopyOf(Value copy, Value value) {
  if (auto step = copy.getDefiningOp<OptimizerStepOp>())
    return value == step.getResult(0) &&
           cast<OpResult>(copy).getResultNumber() > step.getSlots().size();
  auto cast = copy.getDefiningOp<CastOp>();
  if (cast && cast.getInput() == value)
    return true;
  // A value that was as narrow before is its own copy.
  auto widened = value.getDefiningOp<CastOp>();
  return copy == value || (widened && widened.getInput() == copy);
}

/// Whoever updates a weight writes its copies.
static LogicalResult verifyShadows(func::FuncOp entry, ArrayRef<VariableOp> shadows) {
  llvm::DenseMap<Attribute, Value> updates;
  Operation *terminator = entry.getBody().back().getTerminator();
  for (unsigned i = 0; i < entry.getNumResults(); ++i)
    if (Attribute symbol = entry.getResultAttr(i, MpcDialect::kUpdatesAttr))
      updates[symbol] = terminator->getOperand(i);
  LogicalResult status = success();
  for (VariableOp shadow : shadows) {
    Value value = updates.lookup(shadow.getShadowOfAttr()),
          copy = updates.lookup(FlatSymbolRefAttr::get(shadow.getSymNameAttr()));
    if (bool(value) == bool(copy) && (!value || isCopyOf(copy, value)))
      continue;
    status = entry.emitError() << "@" << entry.getSymName() << " updates "
                               << (value ? shadow.getShadowOfAttr()
                                         : FlatSymbolRefAttr::get(shadow.getSymNameAttr()))
                               << (value ? " without its copy @" : ", whose weight stays: @")
                               << shadow.getSymName();
  }
  return status;
}

namespace {
struct VerifyFusionPass : mpc::impl::VerifyFusionBase<VerifyFusionPass> {
  void runOnOperation() override {
    bool ok = succeeded(verifyFiniteTests(getOperation()));
    SmallVector<VariableOp> shadows;
    for (auto variable : getOperation().getOps<VariableOp>())
      if (variable.getRole() == VariableRole::Shadow)
        shadows.push_back(variable);
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (!function.isExternal())
        ok &= succeeded(verifyShadows(function, shadows));
      if (!isEntry(function)) {
        function.emitError() << "function @" << function.getName()
                             << " is no entry; expected only functions with mpc.entry";
        ok = false;
      }
      function.walk([&](Operation *op) { ok &= succeeded(verify(op)); });
    }
    if (!ok)
      signalPassFailure();
  }

  static LogicalResult verify(Operation *op) {
    if (isa<LayerOp>(op))
      return op->emitError() << "a layer is still there; run mpc-insert-casts";
    return success();
  }
};
} // namespace
