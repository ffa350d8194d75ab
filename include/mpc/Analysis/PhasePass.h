// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The base of passes that rewrite IR of one phase. What else they are given, they refuse before
// they touch it: a pass may then rely on the dialects of its phase.
#ifndef MPC_ANALYSIS_PHASEPASS_H
#define MPC_ANALYSIS_PHASEPASS_H

#include "dialects/mpc/IR/Mpc.h"
#include "mlir/Pass/Pass.h"

namespace mpc {

/// Fails, with an error at the first op that has no place in IR of `phase` or on the way to it,
/// for `pass`.
llvm::LogicalResult verifyPhaseOfOps(mlir::ModuleOp module, Phase phase, llvm::StringRef pass);

/// A pass on modules of `kPhase`, or on the way from it to the next one.
template <Phase kPhase> class PhasePass : public mlir::OperationPass<mlir::ModuleOp> {
public:
  using OperationPass::OperationPass;

  virtual void runOnModule() = 0;

  void runOnOperation() final {
    if (failed(verifyPhaseOfOps(getOperation(), kPhase, getArgument())))
      return signalPassFailure();
    runOnModule();
  }
};

} // namespace mpc

#endif // MPC_ANALYSIS_PHASEPASS_H
