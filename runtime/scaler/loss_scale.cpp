// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The rule of the loss scale on plain numbers.
#include "runtime/scaler/loss_scale.h"

namespace mpc::rt {

LossScale advance(const LossScale &state, const LossScaleRule &rule, bool finite) {
  rules::HostArithmetic numbers;
  auto next = rules::advanceLossScale(numbers, state.scale, state.stepCounter, finite, rule);
  return {next.scale, next.counter, state.iterations + (finite ? 1 : 0)};
}

} // namespace mpc::rt
