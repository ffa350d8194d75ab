// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Observing the loss scale.
#include "runtime/training/scale_watch.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace mpc::training {

ScaleWatch::ScaleWatch(OptimizerState &state, std::function<void(std::string)> report, Probe probe)
    : state_(state), report_(std::move(report)), probe_(std::move(probe)) {
  mpc_rt_scaler_options_t options = {};
  options.struct_size = sizeof options;
  mpc_rt_scaler_options_init(&options);
  if (mpc_rt_scaler_create(&options, &scaler_))
    scaler_ = nullptr; // without it training goes on unwatched
}

ScaleWatch::~ScaleWatch() { mpc_rt_scaler_release(scaler_); }

std::string ScaleWatch::stepEnd(const StepResult &step) {
  mpc_rt_scaler_step_t observed = {};
  observed.struct_size = sizeof observed;
  observed.finite = step.finite;
  observed.scale = state_.dynamicScale().value_or(1);
  observed.loss = step.loss;
  int32_t diagnosed = 0;
  if (scaler_ && mpc_rt_scaler_observe(scaler_, &observed, &diagnosed) == MPC_RT_OK && diagnosed) {
    const std::string diagnosis = mpc_rt_scaler_diagnosis(scaler_);
    const std::string found = !step.finite && step.indices ? probe_(step) : "";
    report_(diagnosis + (found.empty() ? "" : "; ") + found);
  }
  if (!step.finite && step.indices && !rowsReported_)
    skipped_.insert(step.indices->begin(), step.indices->end());
  return "";
}

data::Status ScaleWatch::epochEnd(int64_t epoch, Logs &logs, std::string &stop) {
  const float scale = state_.dynamicScale().value_or(1);
  // A scale that was tried and taken back ends as it began.
  const bool hasFallen = scaleBefore_ > scale && !skipped_.empty();
  scaleBefore_ = scale;
  if (!hasFallen) {
    fallenEpochs_ = 0;
    suspects_.clear();
  } else if (fallenEpochs_++ == 0) {
    suspects_ = std::move(skipped_);
  } else {
    std::set<int64_t> both;
    std::set_intersection(suspects_.begin(), suspects_.end(), skipped_.begin(), skipped_.end(),
                          std::inserter(both, both.end()));
    suspects_ = std::move(both);
  }
  skipped_.clear();
  if (fallenEpochs_ >= 3 && !suspects_.empty() && !rowsReported_)
    reportSuspects();
  return data::Status();
}

void ScaleWatch::reportSuspects() {
  constexpr size_t most = 8;
  rowsReported_ = true;
  std::string list;
  size_t shown = 0;
  for (int64_t row : suspects_)
    if (shown++ < most)
      list += (list.empty() ? "" : ", ") + std::to_string(row);
  if (suspects_.size() > most)
    list += " and " + std::to_string(suspects_.size() - most) + " more";
  report_(
      "the loss scale fell in each of " + std::to_string(fallenEpochs_) +
      " epochs, each time by steps with the same rows of the data (from 0): " + list +
      "; look at their values, which may be beyond float16's 65504, or compute the first layers "
      "in float32 or bfloat16");
}

} // namespace mpc::training
