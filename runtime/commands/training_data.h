// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The data of a training run.
#ifndef MPC_RUNTIME_COMMANDS_TRAINING_DATA_H
#define MPC_RUNTIME_COMMANDS_TRAINING_DATA_H

#include "runtime/commands/train_options.h"

namespace mpc::commands {

/// Training rows, and validation rows if there are any.
struct TrainingData {
  data::Dataset train;
  std::optional<data::Dataset> validation;
};

/// Reads and checks all data, splits off validation rows, applies class weights. The faults of both
/// sets are reported together.
data::Result<TrainingData> readTrainingData(const TrainOptions &options,
                                            const training::Session &session);

} // namespace mpc::commands
#endif
