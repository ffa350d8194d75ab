// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which values derivatives flow through.
#ifndef MPC_ANALYSIS_ACTIVITY_H
#define MPC_ANALYSIS_ACTIVITY_H

#include "mlir/IR/Block.h"
#include "llvm/ADT/DenseSet.h"

namespace mpc {

/// Activity analysis of one block: a value is active when it is floating, depends on an independent
/// value and the dependent value depends on it. Reverse mode needs cotangents of active values
/// only.
class Activity {
public:
  Activity(mlir::Block &block, llvm::ArrayRef<mlir::Value> independents, mlir::Value dependent);

  bool isActive(mlir::Value value) const { return active.contains(value); }

private:
  llvm::DenseSet<mlir::Value> active;
};

} // namespace mpc

#endif // MPC_ANALYSIS_ACTIVITY_H
