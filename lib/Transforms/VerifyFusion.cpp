// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mpc-verify-fusion: the exit contract of the phase `fusion`.
#include "dialects/mpc/IR/Mpc.h"
#include "mpc/Transforms/Passes.h"

namespace mpc {
#define GEN_PASS_DEF_VERIFYFUSION
#include "mpc/Transforms/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;

namespace {
struct VerifyFusionPass : mpc::impl::VerifyFusionBase<VerifyFusionPass> {
  void runOnOperation() override {
    bool ok = true;
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (!function->hasAttr(MpcDialect::kEntryAttr)) {
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
