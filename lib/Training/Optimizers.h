// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// From a serialised optimizer to mpc.optimizer and mpc.loss_scale.
#ifndef MPC_LIB_TRAINING_OPTIMIZERS_H
#define MPC_LIB_TRAINING_OPTIMIZERS_H

#include "dialects/mpc/IR/Mpc.h"
#include "mpc/Training/Training.h"

namespace mpc {

/// Emits the declarations at the builder's place, for the variables of `module`. Errors go to the
/// location "optimizer", or the file that an option names.
llvm::LogicalResult buildOptimizer(mlir::OpBuilder &builder, mlir::ModuleOp module,
                                   const CompileConfig &config);

} // namespace mpc

#endif // MPC_LIB_TRAINING_OPTIMIZERS_H
