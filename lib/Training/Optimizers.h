// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// From a serialised optimizer to mpc.optimizer and mpc.loss_scale.
#ifndef MPC_LIB_TRAINING_OPTIMIZERS_H
#define MPC_LIB_TRAINING_OPTIMIZERS_H

#include "dialects/mpc/IR/Mpc.h"
#include "llvm/Support/JSON.h"

namespace mpc {

/// Emits the declarations at the builder's place, for the variables of `module`. Errors go to the
/// location "optimizer".
llvm::LogicalResult buildOptimizer(mlir::OpBuilder &builder, mlir::ModuleOp module,
                                   const llvm::json::Value &optimizer);

} // namespace mpc

#endif // MPC_LIB_TRAINING_OPTIMIZERS_H
