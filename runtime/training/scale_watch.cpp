// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Observing the loss scale.
#include "training/scale_watch.h"

namespace mpc::training {

ScaleWatch::ScaleWatch(OptimizerState &state, std::function<void(std::string)> report)
    : state_(state), report_(std::move(report)) {
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
  if (scaler_ && mpc_rt_scaler_observe(scaler_, &observed, &diagnosed) == MPC_RT_OK && diagnosed)
    report_(mpc_rt_scaler_diagnosis(scaler_));
  return "";
}

} // namespace mpc::training
