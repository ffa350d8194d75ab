// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Trace: every step's loss, metrics, rate and loss-scale state, as train_on_batch would report
// them.
#ifndef MPC_RUNTIME_TRAINING_TRACE_H
#define MPC_RUNTIME_TRAINING_TRACE_H

#include "runtime/data/npz.h"
#include "runtime/training/metrics.h"
#include "runtime/training/optimizer_state.h"

namespace mpc::training {

/// Metrics are reset around each step, so that they are of that batch alone; their running totals
/// are kept here and put back at the end of the epoch.
class Trace {
public:
  explicit Trace(Session &session);

  data::Status stepBegin();
  data::Status stepEnd(const Batcher &step);
  /// Puts the totals since the last call into the metric variables.
  void restoreTotals();

  /// The arrays of `mpc-run train --trace`: per step, then final:* and opt:*.
  data::NamedArrays arrays();
  /// Whether an archive at `path` can hold them: known before the first step.
  data::Status checkNames(const std::string &path) const;

private:
  Session &session_;
  OptimizerState optimizer_;
  std::vector<std::vector<uint8_t>> before_; // trainable variables before the step
  std::vector<data::Array> totals_;          // metric variables, summed over steps
  std::vector<uint32_t> trainable_, metric_;
  std::vector<float> loss_, rate_, scale_;
  std::vector<int64_t> counter_, iterations_;
  std::vector<uint8_t> changed_;
  struct Series {
    std::vector<float> values; // of all steps, vectors one behind the other
    int64_t width = 0;         // 0: one number per step
  };
  std::map<std::string, Series> metrics_;
  std::optional<float> rateBefore_;
};

} // namespace mpc::training
#endif
