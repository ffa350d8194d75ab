// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Callbacks that watch one metric: early stopping and lowering the learning rate.
#ifndef MPC_RUNTIME_TRAINING_PLATEAU_H
#define MPC_RUNTIME_TRAINING_PLATEAU_H

#include "runtime/training/callback.h"
#include "runtime/training/optimizer_state.h"

#include <functional>
#include <limits>
#include <optional>

namespace mpc::training {

struct EarlyStopOptions {
  std::string monitor = "val_loss";
  int64_t patience = 0;
  double minDelta = 0;
  std::optional<bool> larger = false; // nothing: refused when training begins
  int64_t startFromEpoch = 0;
  std::optional<double> baseline; // what the metric has to be better than, too
  bool restoreBestWeights = false;
};

/// keras.callbacks.EarlyStopping: stops when the metric did not improve by more than min_delta in
/// `patience` epochs, and may leave the model with the weights of the best one.
class EarlyStop : public Callback {
public:
  /// `session` has the weights that are restored; only where that is asked for.
  explicit EarlyStop(EarlyStopOptions options, Session *session = nullptr);
  data::Status begin(Logs &logs) override;
  data::Status epochEnd(int64_t epoch, Logs &logs, std::string &stop) override;
  data::Status trainEnd() override;
  void save(CallbackState &state) const override;
  void restore(const CallbackState &state) override;

private:
  void keepWeights();

  EarlyStopOptions options_;
  Session *session_;
  std::optional<double> best_; // nothing before the first epoch that counts
  data::NamedArrays bestWeights_;
  int64_t wait_ = 0;
};

struct ReduceLearningRateOptions {
  std::string monitor = "val_loss";
  double factor = 0.1;
  int64_t patience = 10;
  double minDelta = 1e-4;
  std::optional<bool> larger = false; // nothing: refused when training begins
  int64_t cooldown = 0;
  double minimum = 0;
};

/// keras.callbacks.ReduceLROnPlateau. Adds `learning_rate` to the logs.
class ReduceLearningRate : public Callback {
public:
  /// `report` is told about each change.
  ReduceLearningRate(ReduceLearningRateOptions options, OptimizerState &state,
                     std::function<void(std::string)> report);
  data::Status begin(Logs &logs) override;
  data::Status epochEnd(int64_t epoch, Logs &logs, std::string &stop) override;
  void save(CallbackState &state) const override;
  void restore(const CallbackState &state) override;

private:
  ReduceLearningRateOptions options_;
  OptimizerState &state_;
  std::function<void(std::string)> report_;
  std::optional<double> best_; // nothing before the first epoch
  int64_t wait_ = 0, cooldownLeft_ = 0;
};

/// keras.callbacks.TerminateOnNaN: stops after a step whose loss is NaN or infinite.
class TerminateOnNaN : public Callback {
public:
  std::string stepEnd(const StepResult &step) override;
};

} // namespace mpc::training
#endif
