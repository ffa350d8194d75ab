// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Dead and repeated values go between passes, never inside one: each pass can then be tested on
// what it does itself.
#ifndef MPC_LIB_PIPELINES_CLEANUP_H
#define MPC_LIB_PIPELINES_CLEANUP_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

namespace mpc {

/// Folds and simplifies ops, function by function.
inline void simplify(mlir::OpPassManager &manager) {
  mlir::GreedyRewriteConfig config;
  // Entries have one block: nothing is unreachable, and dead ops go with the rewrites.
  config.setRegionSimplificationLevel(mlir::GreedySimplifyRegionLevel::Disabled);
  manager.addNestedPass<mlir::func::FuncOp>(mlir::createCanonicalizerPass(config));
}

/// The same, and equal ops become one.
inline void cleanUp(mlir::OpPassManager &manager) {
  simplify(manager);
  manager.addNestedPass<mlir::func::FuncOp>(mlir::createCSEPass());
}

} // namespace mpc

#endif // MPC_LIB_PIPELINES_CLEANUP_H
