// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Weights that a policy or training makes useless, told while their values are at hand.
#ifndef MPC_LIB_DRIVER_LOSTWEIGHTS_H
#define MPC_LIB_DRIVER_LOSTWEIGHTS_H

#include "mlir/IR/BuiltinOps.h"
#include "mpc/Support/WeightStore.h"

namespace mpc {

/// A text for each variable of which a finite element becomes infinite, or everything that is not 0
/// becomes 0, where it is stored or cast in IR of the phase `casts`: "PATH: what; what to do".
std::vector<std::string> describeLostWeights(mlir::ModuleOp module, const WeightStore &weights);

/// A text for each pair of LoRA factors that no training step changes: both are 0, so that each
/// one's gradient is 0, or neither is trainable and their product is 0.
std::vector<std::string> describeIdleFactors(mlir::ModuleOp module, const WeightStore &weights);

} // namespace mpc

#endif // MPC_LIB_DRIVER_LOSTWEIGHTS_H
