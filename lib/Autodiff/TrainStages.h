// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// @train_step in three entries, for training loops that users write themselves.
#ifndef MPC_LIB_AUTODIFF_TRAINSTAGES_H
#define MPC_LIB_AUTODIFF_TRAINSTAGES_H

#include "lib/Autodiff/EntryBuilder.h"
#include "mpc/Analysis/EntryRole.h"

namespace mpc {

/// The parts of a finished @train_step that the stages need.
struct TrainStepParts {
  mlir::func::FuncOp function; ///< has the predictions as outputs
  GradientSeedOp seed;         ///< forward code ends here
  mlir::Value cotangent;       ///< of the loss: the seed, times a static scale
  /// The divisor of a marker's result, where the optimizer has a static scale.
  llvm::DenseMap<mlir::Value, mlir::Value> unscaled;
};

/// Cuts the step at its seed and at its gradients into the entries above, whose results in a row
/// are those of the step. Between them lie the gradients (`grad:<path>`, float32 or float64) and
/// values that a later stage reads of an earlier one (`kept:<n>`); `part:<n>` are rows of a
/// gradient that the optimizer wants apart. The seed and the markers are not in the last stage,
/// which takes unscaled gradients. A step without gradients, or with variables that gradients
/// overwrite, has no stages.
llvm::LogicalResult buildTrainStages(mlir::ModuleOp module, const TrainStepParts &step);

/// Takes the predictions out of a step again.
void dropPredictions(mlir::func::FuncOp step);

} // namespace mpc

#endif // MPC_LIB_AUTODIFF_TRAINSTAGES_H
