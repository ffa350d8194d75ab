// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Losses, loss weights and metrics of a compile config, sorted by model output as
// keras/src/trainers/compile_utils.py sorts them.
#ifndef MPC_LIB_TRAINING_OUTPUTPARTS_H
#define MPC_LIB_TRAINING_OUTPUTPARTS_H

#include "mpc/Training/Training.h"

namespace mpc {

/// What one output is trained and measured with.
struct OutputParts {
  std::string name;                        // Keras's: a key, or the layer that computes it
  const llvm::json::Value *loss = nullptr; // null: none
  std::optional<double> lossWeight;
  llvm::SmallVector<const llvm::json::Value *> metrics, weightedMetrics;
};

/// What is to be said of a part of the config: "loss", "loss_weights", "metrics" or
/// "weighted_metrics".
struct ConfigRemark {
  llvm::StringRef part;
  std::string text;
};

/// Sorts `config` by the outputs called `names`. Where they are `keys` of a dictionary, Keras
/// trains without losses for some of them. Appends what does not fit to `problems`, and to
/// `warnings` what Keras takes otherwise than it reads.
std::vector<OutputParts> sortByOutput(const CompileConfig &config,
                                      llvm::ArrayRef<std::string> names, bool keys,
                                      llvm::SmallVectorImpl<ConfigRemark> &problems,
                                      llvm::SmallVectorImpl<ConfigRemark> &warnings);

} // namespace mpc

#endif // MPC_LIB_TRAINING_OUTPUTPARTS_H
