// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Proves that a training step with a dynamic loss scale changes nothing where gradients are not
// finite.
#ifndef MPC_ANALYSIS_FINITETEST_H
#define MPC_ANALYSIS_FINITETEST_H

#include "mlir/IR/BuiltinOps.h"

namespace mpc {

/// With a dynamic `mpc.loss_scale`: proves that @train_step and the last stage of a custom loop
/// tell whether all gradients were finite, and that each of their updates of trainable and
/// optimizer variables takes no effect where they were not. Errors say which one does.
llvm::LogicalResult verifyFiniteTests(mlir::ModuleOp module);

} // namespace mpc

#endif // MPC_ANALYSIS_FINITETEST_H
