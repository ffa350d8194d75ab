// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The options of mpc-run train.
#ifndef MPC_RUNTIME_COMMANDS_TRAIN_OPTIONS_H
#define MPC_RUNTIME_COMMANDS_TRAIN_OPTIONS_H

#include "runtime/commands/arguments.h"
#include "runtime/reports/step_reports.h"
#include "runtime/training/plateau.h"
#include "runtime/training/shuffle.h"

namespace mpc::commands {

struct TrainOptions {
  training::SessionOptions session;
  std::string data, validationData, save, checkpoint, resume, csvLog, jsonLog, tensorBoard, trace,
      traceEvents, classWeight;
  double validationSplit = 0;
  int64_t epochs = 1;
  int64_t batchSize = 0; // 0 = the compiled batch, else 32
  int64_t steps = 0, saveEvery = 0, keep = 2;
  reports::StepReportOptions numerics; // without a folder there are none
  training::Shuffle shuffle = training::Shuffle::EachPass;
  uint32_t deterministicRanks = 0;                   // parts of a batch; 0 = one on each rank
  bool othersSave = false, othersCheckpoint = false; // of a rank after the first: whether it does
  bool terminateOnNaN = false, deterministic = false, memory = false, json = false, quiet = false;
  std::optional<training::EarlyStopOptions> earlyStop;
  std::optional<training::ReduceLearningRateOptions> reduceLearningRate;

  /// A rank after the first leaves files and printing to it.
  void keepToOneself();
  /// The options that have to be the same on every rank, in words.
  std::string describe() const;
};

/// Faults are left in `arguments`.
TrainOptions trainOptions(Arguments &arguments);

} // namespace mpc::commands
#endif
