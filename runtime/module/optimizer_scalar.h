// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The optimizer variables that mean something outside the compiled update.
#ifndef MPC_RUNTIME_MODULE_OPTIMIZER_SCALAR_H
#define MPC_RUNTIME_MODULE_OPTIMIZER_SCALAR_H

#include "mpc-rt/executable.h"

#include <cstdint>
#include <string_view>

namespace mpc::rt {

enum class OptimizerScalar {
  learningRate,     // float32; none under a schedule
  iteration,        // int64
  lossScale,        // float32, where it is dynamic
  lossScaleCounter, // int64, the same
};

// Index of the variable, -1 where there is none. The names are Keras's: those of the optimizer
// ("adam/iteration"), and of the LossScaleOptimizer around it, whose own iteration and learning
// rate are not used (keras/src/optimizers/loss_scale_optimizer.py delegates both).
inline int64_t findOptimizerScalar(const mpc_rt_executable_t &executable,
                                   OptimizerScalar wanted) noexcept {
  struct Rule {
    std::string_view name;
    mpc_rt_dtype_t dtype;
    bool isOfScaler;
  };
  constexpr Rule rules[] = {{"learning_rate", MPC_RT_FLOAT32, false},
                            {"iteration", MPC_RT_INT64, false},
                            {"dynamic_scale", MPC_RT_FLOAT32, true},
                            {"step_counter", MPC_RT_INT64, true}};
  const Rule &rule = rules[static_cast<int>(wanted)];
  for (uint32_t i = 0; i < executable.variable_count; ++i) {
    const mpc_rt_variable_info_t &variable = executable.variables[i];
    const std::string_view path = variable.tensor.name;
    const size_t slash = path.rfind('/');
    if (variable.role == MPC_RT_ROLE_OPTIMIZER && slash != path.npos &&
        path.substr(slash + 1) == rule.name &&
        (path.substr(0, slash) == "loss_scale_optimizer") == rule.isOfScaler &&
        variable.tensor.dtype == rule.dtype && variable.tensor.rank == 0)
      return i;
  }
  return -1;
}

} // namespace mpc::rt

#endif
