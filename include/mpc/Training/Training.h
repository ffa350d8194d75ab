// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// From a Keras compile config to @loss, mpc.metric, mpc.optimizer and mpc.loss_scale.
#ifndef MPC_TRAINING_TRAINING_H
#define MPC_TRAINING_TRAINING_H

#include "dialects/mpc/IR/Mpc.h"
#include "mlir/IR/BuiltinOps.h"
#include "mpc/Training/TrainingRules.h"
#include "llvm/Support/JSON.h"

namespace mpc {

/// The arguments of `Model.compile`, each part as Keras serialises it (string, object or function
/// JSON, or a list of them, one per output). Null parts are absent.
struct CompileConfig {
  llvm::json::Value optimizer = nullptr;
  llvm::json::Value loss = nullptr;
  llvm::json::Value lossWeights = nullptr;
  llvm::json::Value metrics = nullptr;
  llvm::json::Value weightedMetrics = nullptr;
  TrainingRules rules; ///< those of the file
  /// Layers bring a loss (model.add_loss, activity regularizers), so that the model trains without
  /// another.
  bool hasOwnLoss = false;
  /// Nobody asked for training: a loss of the file that Keras cannot train with is left out with a
  /// warning, and the model predicts.
  bool mayOnlyPredict = false;
  /// Where options give these parts, in place of the model's own: the file that an option names, or
  /// the option ("--loss=mse"); else empty.
  std::string optimizerPlace, lossPlace, metricsPlace;

  /// Whether a training step can be built: a loss and an optimizer are known.
  bool isComplete() const { return (!isNull(loss) || hasOwnLoss) && !isNull(optimizer); }
  static bool isNull(const llvm::json::Value &value) {
    return value.kind() == llvm::json::Value::Null;
  }
};

/// Whether layers of @forward bring a loss of their own.
bool hasLossTerms(mlir::ModuleOp module);

/// Takes what mpc does not know out of the parts that no option gives: metrics, and the loss or the
/// optimizer, without which there is no training. Returns what was left out, for warnings.
std::vector<std::string> leaveUnknownOut(CompileConfig &config);

/// Adds to a module that holds @forward the function @loss (values and metric updates, all float32
/// or wider), the mpc.metric declarations, the first of which is the loss, and, when the config
/// names an optimizer, mpc.optimizer and the file's mpc.loss_scale. Errors name the part of the
/// config ("compile_config.loss[1]"; where an option's file gives it, that file and "loss[1]"),
/// what was expected and what is supported; all are reported together.
llvm::LogicalResult buildTraining(mlir::ModuleOp module, const CompileConfig &config);

} // namespace mpc

#endif // MPC_TRAINING_TRAINING_H
