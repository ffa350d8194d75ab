// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mpc-mark-phase: the phase that the IR has reached.
#include "mpc/Transforms/Passes.h"

using namespace mlir;
using namespace mpc;

namespace mpc {
#define GEN_PASS_DEF_MARKPHASE
#include "mpc/Transforms/Passes.h.inc"
} // namespace mpc

namespace {
struct MarkPhasePass : mpc::impl::MarkPhaseBase<MarkPhasePass> {
  using MarkPhaseBase::MarkPhaseBase;

  void runOnOperation() override {
    if (!symbolizePhase(phase)) {
      getOperation().emitError() << "mpc-mark-phase: '" << phase
                                 << "' is no phase; expected the name of one (docs/pipeline.md)";
      return signalPassFailure();
    }
    getOperation()->setAttr(MpcDialect::kPhaseAttr, StringAttr::get(&getContext(), phase));
    markAllAnalysesPreserved();
  }
};
} // namespace
