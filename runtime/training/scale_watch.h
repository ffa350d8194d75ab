// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// ScaleWatch: tells when loss scaling skips step after step, which no metric shows.
#ifndef MPC_RUNTIME_TRAINING_SCALE_WATCH_H
#define MPC_RUNTIME_TRAINING_SCALE_WATCH_H

#include "mpc-rt/scaler.h"
#include "runtime/training/callback.h"
#include "runtime/training/optimizer_state.h"

#include <functional>
#include <set>

namespace mpc::training {

/// Feeds every step to the runtime's diagnosis and reports what it has to say. Reports once which
/// rows were in a skipped step of each of three epochs in a row, while the scale fell in each: with
/// shuffled rows the one that is at fault is soon alone. Changes nothing.
class ScaleWatch : public Callback {
public:
  /// Says what of the skipped step of these rows is not finite, or "".
  using Probe = std::function<std::string(const StepResult &)>;
  ScaleWatch(OptimizerState &state, std::function<void(std::string)> report, Probe probe);
  ~ScaleWatch() override;
  std::string stepEnd(const StepResult &step) override;
  data::Status epochEnd(int64_t epoch, Logs &logs, std::string &stop) override;

private:
  void reportSuspects();
  OptimizerState &state_;
  std::function<void(std::string)> report_;
  Probe probe_;
  mpc_rt_scaler_t *scaler_ = nullptr;
  /// Rows of the steps that were skipped in this epoch, and of those that every epoch skipped in
  /// which the scale fell.
  std::set<int64_t> skipped_, suspects_;
  int64_t fallenEpochs_ = 0;
  float scaleBefore_ = 0; // when the epoch began
  bool rowsReported_ = false;
};

} // namespace mpc::training
#endif
