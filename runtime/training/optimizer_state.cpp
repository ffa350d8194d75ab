// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Finding and reading scalar optimizer variables.
#include "training/optimizer_state.h"

#include "data/convert.h"

#include <cstring>

namespace mpc::training {

OptimizerState::OptimizerState(Session &session) : session_(session) {
  const mpc_rt_executable_t &tables = session.executable();
  for (uint32_t i = 0; i < tables.variable_count; ++i) {
    if (tables.variables[i].role != MPC_RT_ROLE_OPTIMIZER || tables.variables[i].tensor.rank != 0)
      continue;
    std::string name = tables.variables[i].tensor.name;
    name = name.substr(name.rfind('/') + 1); // npos + 1 == 0: the whole name
    int64_t *slot = name == "learning_rate"   ? &learningRate_
                    : name == "dynamic_scale" ? &dynamicScale_
                    : name == "step_counter"  ? &stepCounter_
                    : name == "iteration"     ? &iteration_
                                              : nullptr;
    if (slot)
      *slot = i;
  }
}

std::optional<float> OptimizerState::real(int64_t index) const {
  if (index < 0)
    return std::nullopt;
  data::Array value = session_.variableArray(static_cast<uint32_t>(index));
  return static_cast<float>(data::elementAsDouble(value, 0));
}

std::optional<int64_t> OptimizerState::integer(int64_t index) const {
  if (index < 0)
    return std::nullopt;
  data::Array value = session_.variableArray(static_cast<uint32_t>(index));
  int64_t result = 0;
  if (data::isFloating(value.dtype()))
    return static_cast<int64_t>(data::elementAsDouble(value, 0));
  data::convertElements(value.data(), value.dtype(), &result, MPC_RT_INT64, 1,
                        data::Conversion::Direct);
  return result;
}

bool OptimizerState::setLearningRate(float rate) {
  if (learningRate_ < 0)
    return false;
  uint32_t index = static_cast<uint32_t>(learningRate_);
  data::convertElements(&rate, MPC_RT_FLOAT32, session_.variable(index),
                        session_.variableInfo(index).tensor.dtype, 1, data::Conversion::Direct);
  return true;
}

} // namespace mpc::training
