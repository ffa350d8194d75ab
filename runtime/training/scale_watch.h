// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// ScaleWatch: tells when loss scaling skips step after step, which no metric shows.
#ifndef MPC_RUNTIME_TRAINING_SCALE_WATCH_H
#define MPC_RUNTIME_TRAINING_SCALE_WATCH_H

#include "mpc-rt/scaler.h"
#include "training/callback.h"
#include "training/optimizer_state.h"

#include <functional>

namespace mpc::training {

/// Feeds every step to the runtime's diagnosis and reports what it has to say. Changes nothing.
class ScaleWatch : public Callback {
public:
  ScaleWatch(OptimizerState &state, std::function<void(std::string)> report);
  ~ScaleWatch() override;
  std::string stepEnd(const StepResult &step) override;

private:
  OptimizerState &state_;
  std::function<void(std::string)> report_;
  mpc_rt_scaler_t *scaler_ = nullptr;
};

} // namespace mpc::training
#endif
