// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The optimizer state that a `.keras` file holds.
#ifndef MPC_LIB_DRIVER_OPTIMIZERSTATE_H
#define MPC_LIB_DRIVER_OPTIMIZERSTATE_H

#include "dialects/mpc/IR/Mpc.h"
#include "mlir/IR/BuiltinOps.h"
#include "mpc/Codegen/CPU/Emit.h"
#include "mpc/Import/Keras/Weights.h"
#include "mpc/Training/TrainingRules.h"
#include "llvm/Support/JSON.h"
#include <vector>

namespace mpc {

/// Gives the stored optimizer variables (`optimizer/vars/0…n`) to the module's variables of role
/// optimizer, which mpc-differentiate declared in Keras's order. A file written with a
/// LossScaleOptimizer holds four more in front; either side may have them. Returns a warning text
/// when the state does not fit and is left out, as Keras does; empty otherwise, and where the
/// file's optimizer never made a step. Of Keras 2 (LegacyOptimizerState.h) `names` go with them.
std::string addOptimizerState(mlir::ModuleOp module, OptimizerFamily family,
                              const std::vector<std::string> &names,
                              std::vector<keras::StoredTensor> stored, WeightStore &weights);

/// Whether two optimizers, in Keras's serialised form or by name, are of one class; what a
/// LossScaleOptimizer wraps counts.
bool isSameOptimizer(const llvm::json::Value &a, const llvm::json::Value &b);

/// Whether the optimizer that stored these made a step: its counters, the only integers it has, are
/// not all 0.
bool hasStepped(llvm::ArrayRef<keras::StoredTensor> stored);

/// The same for old files, of which some keep no counter: then no slot that is not 0 means no step.
bool holdsState(llvm::ArrayRef<keras::StoredTensor> stored);

/// Says that the stored loss scale is out of the bounds of --loss-scale; empty where it is not.
std::string findScaleOutOfBounds(mlir::ModuleOp module, const WeightStore &weights);

/// Takes back the learning rate that was stored; it starts as its initializer says.
void dropLearningRate(mlir::ModuleOp module, WeightStore &weights);

/// Whether Keras lists the optimizer's variable inside of a LossScaleOptimizer, too.
bool isListedWhenScaled(VariableOp variable);

/// Gives variables of the optimizer that have no value, while others have one, what they start
/// from: files of Keras 2 keep no learning rate, files written without a scaler no scale.
void completeOptimizerState(mlir::ModuleOp module, WeightStore &weights);

} // namespace mpc

#endif // MPC_LIB_DRIVER_OPTIMIZERSTATE_H
