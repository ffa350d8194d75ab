// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A loss scale that somebody restores must be within the bounds that the model was compiled with:
// the rule bounds a scale only when it changes.
#ifndef MPC_RUNTIME_MODULE_RESTORED_SCALE_H
#define MPC_RUNTIME_MODULE_RESTORED_SCALE_H

#include "mpc-rt/executable.h"
#include "runtime/module/optimizer_scalar.h"
#include "runtime/rules/loss_scale.h"

#include <cstdio>
#include <cstring>
#include <string>

namespace mpc::rt {

// The fault of `value` where the variable is the dynamic loss scale; "" where there is none.
inline std::string findScaleOutOfBounds(const mpc_rt_executable_t &executable, uint32_t variable,
                                        const void *value) {
  if (!MPC_RT_EXECUTABLE_HAS(&executable, loss_scale_maximum) ||
      findOptimizerScalar(executable, OptimizerScalar::lossScale) != static_cast<int64_t>(variable))
    return "";
  rules::LossScaleRule rule;
  rule.minimum = executable.loss_scale_minimum;
  if (executable.loss_scale_maximum > 0)
    rule.maximum = executable.loss_scale_maximum;
  float scale;
  std::memcpy(&scale, value, sizeof scale);
  if (rule.allows(scale))
    return "";
  char text[200];
  std::snprintf(text, sizeof text,
                "loss scale %g; expected %g to %g, the bounds of --loss-scale that the model was "
                "compiled with; compile it with others, or start without this state",
                static_cast<double>(scale), static_cast<double>(rule.minimum),
                static_cast<double>(rule.maximum));
  return text;
}

} // namespace mpc::rt

#endif
