// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The training step with reports of its values (mpc-watch-step).
#ifndef MPC_ANALYSIS_WATCHEDSTEP_H
#define MPC_ANALYSIS_WATCHEDSTEP_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mpc {

/// Its name. It has no role of its own: what asks for roles is done when it comes to be.
inline constexpr llvm::StringLiteral kWatchedStep = "watched_step";

inline bool isWatchedStep(mlir::func::FuncOp entry) { return entry.getSymName() == kWatchedStep; }

} // namespace mpc

#endif // MPC_ANALYSIS_WATCHEDSTEP_H
