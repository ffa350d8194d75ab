// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Finding and reading scalar optimizer variables.
#include "runtime/training/optimizer_state.h"

#include <cstring>

namespace mpc::training {

using rt::OptimizerScalar;

OptimizerState::OptimizerState(Session &session)
    : session_(session), learningRate_(find(OptimizerScalar::learningRate)),
      dynamicScale_(find(OptimizerScalar::lossScale)),
      stepCounter_(find(OptimizerScalar::lossScaleCounter)),
      iteration_(find(OptimizerScalar::iteration)) {}

int64_t OptimizerState::find(OptimizerScalar wanted) const {
  return rt::findOptimizerScalar(session_.executable(), wanted);
}

std::optional<float> OptimizerState::real(int64_t index) const {
  return index < 0
             ? std::nullopt
             : std::optional(*session_.variableArray(static_cast<uint32_t>(index)).as<float>());
}

std::optional<int64_t> OptimizerState::integer(int64_t index) const {
  return index < 0
             ? std::nullopt
             : std::optional(*session_.variableArray(static_cast<uint32_t>(index)).as<int64_t>());
}

bool OptimizerState::setLearningRate(float rate) {
  if (learningRate_ < 0)
    return false;
  std::memcpy(session_.variable(static_cast<uint32_t>(learningRate_)), &rate, sizeof rate);
  return true;
}

} // namespace mpc::training
