// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Launches that always follow each other, as one kernel with a stage for each.
#ifndef MPC_LIB_CODEGEN_CUDA_LAUNCHGROUPS_H
#define MPC_LIB_CODEGEN_CUDA_LAUNCHGROUPS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <vector>

namespace mpc {

/// A stage of a kernel: the work of one launch.
struct LaunchStage {
  mlir::func::FuncOp kernel;
  bool waits = true;  ///< for all stages before it; else it is independent of those since a wait
  unsigned lanes = 1; ///< threads that an iteration takes

  bool operator<(const LaunchStage &other) const;
};

/// The kernels of every run of launches in the entries of `module`, each run once, in pieces whose
/// parameters fit a launch. Pieces of one kernel are among them: so is each that can have enough
/// threads to fill a GPU by itself. `lanesOf`: the threads that an iteration of a kernel takes.
std::vector<llvm::SmallVector<LaunchStage>>
findLaunchGroups(mlir::ModuleOp module, llvm::function_ref<unsigned(mlir::func::FuncOp)> lanesOf);

/// The text of the kernel `name` with a stage per kernel of `group`, whose bodies are functions
/// `<kernel>_body`, of which a launch runs those from `first_stage` to `end_stage`. Before a stage
/// that waits every thread of the grid waits for all others: the launch must be cooperative.
std::string printLaunchGroup(llvm::StringRef name, llvm::ArrayRef<LaunchStage> group);

} // namespace mpc

#endif // MPC_LIB_CODEGEN_CUDA_LAUNCHGROUPS_H
