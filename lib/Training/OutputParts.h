// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Losses, loss weights and metrics of a compile config, sorted by model output as
// keras/src/trainers/compile_utils.py sorts them.
#ifndef MPC_LIB_TRAINING_OUTPUTPARTS_H
#define MPC_LIB_TRAINING_OUTPUTPARTS_H

#include "mpc/Training/Training.h"

namespace mpc {

/// The loss and the metrics that one output is trained and measured with.
struct OutputParts {
  std::string name;                        // Keras's: a key, or the layer that computes it
  std::string lossName;                    // its loss is logged as "<lossName>_loss"
  const llvm::json::Value *loss = nullptr; // null: none
  std::optional<double> lossWeight;
  llvm::SmallVector<const llvm::json::Value *> metrics, weightedMetrics;
};

/// A remark about a part of the config: "loss", "loss_weights", "metrics" or "weighted_metrics".
struct ConfigRemark {
  llvm::StringRef part;
  std::string text;
  bool onlyInTraining = false; ///< Keras notices when it trains
};

struct OutputNames {
  llvm::ArrayRef<std::string> names;
  bool keys = false;    // of a dictionary: Keras trains without losses for some of them
  bool maySkip = false; // Keras 2: a dictionary of losses may leave out outputs of a list, too
  /// Lists and dictionaries inside each other, with the outputs' numbers; null where they are flat.
  llvm::json::Value nested = nullptr;
};

/// Sorts `config` by output. Appends what does not fit to `problems`, and to `warnings` what Keras
/// takes otherwise than it reads.
std::vector<OutputParts> sortByOutput(const CompileConfig &config, const OutputNames &outputs,
                                      llvm::SmallVectorImpl<ConfigRemark> &problems,
                                      llvm::SmallVectorImpl<ConfigRemark> &warnings);

/// The same for outputs that are nested (NestedOutputs.cpp).
std::vector<OutputParts> sortByNestedOutput(const CompileConfig &config, const OutputNames &outputs,
                                            llvm::SmallVectorImpl<ConfigRemark> &problems);

/// A user's structure, not a serialised Keras object; null for anything else.
inline const llvm::json::Object *asDictionary(const llvm::json::Value &value) {
  const llvm::json::Object *object = value.getAsObject();
  return object && !object->get("class_name") ? object : nullptr;
}

/// The parts of one output's metrics, in whatever lists and dictionaries they are.
void flattenMetrics(const llvm::json::Value &value,
                    llvm::SmallVectorImpl<const llvm::json::Value *> &metrics);

} // namespace mpc

#endif // MPC_LIB_TRAINING_OUTPUTPARTS_H
