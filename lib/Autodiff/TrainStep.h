// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// @train_step: gradients, then what Keras's BaseOptimizer.apply does with them.
#ifndef MPC_LIB_AUTODIFF_TRAINSTEP_H
#define MPC_LIB_AUTODIFF_TRAINSTEP_H

#include "lib/Autodiff/GradientParts.h"
#include "lib/Autodiff/TrainedModel.h"

namespace mpc {

/// Declares the optimizer's variables and builds @train_step, `inStages` as well.
llvm::LogicalResult buildTrainStep(mlir::ModuleOp module, TrainedModel &model,
                                   OptimizerOp optimizer, bool inStages);

/// Symbols of what an optimizer keeps of one trainable variable; null where it keeps nothing.
struct ParameterState {
  mlir::FlatSymbolRefAttr average, accumulator;
  OptimizerRuleAttrInterface rule; // the one that this variable follows
  llvm::SmallVector<mlir::FlatSymbolRefAttr> slots;
};

struct OptimizerState {
  mlir::FlatSymbolRefAttr iteration, learningRate; // learningRate is null with a schedule
  llvm::SmallVector<ParameterState> parameters;    // in the order of the trainable variables
  llvm::SmallVector<mlir::FlatSymbolRefAttr> shared;
};

/// Whether what arrives as the variable's gradient is its new value: no rule, no slots, no
/// clipping.
bool isOverwritten(VariableOp variable);

/// Declares `@"optimizer/<name>/…"` in Keras's order: iteration, learning_rate, averages,
/// accumulators, slots (keras/src/optimizers/base_optimizer.py, build).
OptimizerState declareOptimizerVariables(mlir::ModuleOp module, OptimizerOp optimizer,
                                         llvm::ArrayRef<VariableOp> trainable);

/// The rate of this step: the variable's value, or the schedule at `iteration` (float32, 0 in the
/// first step) as keras/src/optimizers/schedules/learning_rate_schedule.py computes it, in float32.
/// An unknown schedule is an error.
llvm::FailureOr<mlir::Value> buildLearningRate(mlir::OpBuilder &builder, OptimizerOp optimizer,
                                               mlir::Value variable, mlir::Value iteration);

/// The gradient of one variable, as the optimizer takes it.
struct Gradient {
  mlir::Value value;
  llvm::SmallVector<GradientPart> parts; ///< none where Keras has one dense tensor

  /// Keras's value from here on is the dense one.
  void densify() { parts.clear(); }
  /// The sum of all squares, those of the parts where it has any, in the arithmetic's type.
  mlir::Value squaredNorm(const Arithmetic &arithmetic) const;
};

/// Keras's clipping of all gradients, each float32 or float64 (base_optimizer.py, _clip_gradients).
void clipGradients(mlir::OpBuilder &builder, OptimizerOp optimizer,
                   llvm::MutableArrayRef<Gradient *> gradients);

/// `value` (float32 or float64) after the projection that the constraint names.
mlir::Value constrain(mlir::OpBuilder &builder, mlir::Location loc, ConstraintAttr constraint,
                      mlir::Value value);

} // namespace mpc

#endif // MPC_LIB_AUTODIFF_TRAINSTEP_H
