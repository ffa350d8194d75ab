// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The base of passes that rewrite IR of one phase. What else they are given, they refuse before
// they touch it: a pass may then rely on the dialects of its phase.
#ifndef MPC_ANALYSIS_PHASEPASS_H
#define MPC_ANALYSIS_PHASEPASS_H

#include "dialects/mpc/IR/Mpc.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
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

/// Runs `run` on each entry: on all cores, because entries do not need each other, with errors in
/// the order of the module. One by one where somebody reads remarks, which come in the order in
/// which they are made. Failure if one of them fails.
llvm::LogicalResult forEachEntry(mlir::ModuleOp module,
                                 llvm::function_ref<llvm::LogicalResult(mlir::func::FuncOp)> run);

/// A PhasePass that works on the body of one entry at a time, and neither reads another function
/// nor changes the module.
template <Phase kPhase> class EntryPass : public PhasePass<kPhase> {
public:
  using PhasePass<kPhase>::PhasePass;

  virtual llvm::LogicalResult runOnEntry(mlir::func::FuncOp entry) const = 0;

  void runOnModule() final {
    if (failed(forEachEntry(this->getOperation(),
                            [&](mlir::func::FuncOp entry) { return runOnEntry(entry); })))
      this->signalPassFailure();
  }
};

} // namespace mpc

#endif // MPC_ANALYSIS_PHASEPASS_H
