// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The loss-scale state machine of Keras 3's LossScaleOptimizer.apply, without the gradients.
#ifndef MPC_RUNTIME_SCALER_LOSS_SCALE_H
#define MPC_RUNTIME_SCALER_LOSS_SCALE_H

#include "runtime/rules/loss_scale.h"

#include <cstdint>

namespace mpc::rt {

using rules::LossScaleRule;

struct LossScale {
  float scale = 32768.0f;  // Keras: dynamic_scale
  int64_t stepCounter = 0; // finite steps since the scale changed or a step was skipped
  int64_t iterations = 0;  // applied steps
};

// The state after a step. The step is applied exactly when `finite`.
LossScale advance(const LossScale &state, const LossScaleRule &rule, bool finite);

} // namespace mpc::rt

#endif
