// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which variables of an optimizer are the learning rate, the iteration and the loss scale.
#include "runtime/module/optimizer_scalar.h"

#include <gtest/gtest.h>
#include <vector>

using mpc::rt::findOptimizerScalar;
using mpc::rt::OptimizerScalar;

namespace {

mpc_rt_variable_info_t variable(const char *name, mpc_rt_dtype_t dtype, uint32_t rank = 0,
                                uint32_t role = MPC_RT_ROLE_OPTIMIZER) {
  mpc_rt_variable_info_t info = {};
  info.tensor.name = name;
  info.tensor.dtype = dtype;
  info.tensor.rank = rank;
  info.role = role;
  return info;
}

int64_t find(const std::vector<mpc_rt_variable_info_t> &variables, OptimizerScalar wanted) {
  mpc_rt_executable_t executable = {};
  executable.variable_count = static_cast<uint32_t>(variables.size());
  executable.variables = variables.data();
  return findOptimizerScalar(executable, wanted);
}

TEST(OptimizerScalar, IsOfTheOptimizerInsideAScaler) {
  const std::vector<mpc_rt_variable_info_t> variables = {
      variable("loss_scale_optimizer/iteration", MPC_RT_INT64),
      variable("loss_scale_optimizer/learning_rate", MPC_RT_FLOAT32),
      variable("loss_scale_optimizer/step_counter", MPC_RT_INT64),
      variable("loss_scale_optimizer/dynamic_scale", MPC_RT_FLOAT32),
      variable("adam/iteration", MPC_RT_INT64),
      variable("adam/learning_rate", MPC_RT_FLOAT32)};
  EXPECT_EQ(find(variables, OptimizerScalar::iteration), 4);
  EXPECT_EQ(find(variables, OptimizerScalar::learningRate), 5);
  EXPECT_EQ(find(variables, OptimizerScalar::lossScaleCounter), 2);
  EXPECT_EQ(find(variables, OptimizerScalar::lossScale), 3);
}

// The scaler has a rate of its own, which nothing reads.
TEST(OptimizerScalar, IsNoRateUnderAScheduleInAScaler) {
  const std::vector<mpc_rt_variable_info_t> variables = {
      variable("loss_scale_optimizer/learning_rate", MPC_RT_FLOAT32),
      variable("loss_scale_optimizer/dynamic_scale", MPC_RT_FLOAT32),
      variable("adam/iteration", MPC_RT_INT64)};
  EXPECT_EQ(find(variables, OptimizerScalar::learningRate), -1);
  EXPECT_EQ(find(variables, OptimizerScalar::lossScaleCounter), -1);
}

TEST(OptimizerScalar, IsNoSlotAndNoVariableOfTheModel) {
  const std::vector<mpc_rt_variable_info_t> variables = {
      variable("layer/learning_rate", MPC_RT_FLOAT32, 0, MPC_RT_ROLE_TRAINABLE),
      variable("sgd/learning_rate", MPC_RT_FLOAT32, 1),
      variable("sgd/learning_rate", MPC_RT_FLOAT64),
      variable("sgd/learning_rate_kernel_momentum", MPC_RT_FLOAT32),
      variable("learning_rate", MPC_RT_FLOAT32)};
  EXPECT_EQ(find(variables, OptimizerScalar::learningRate), -1);
  EXPECT_EQ(find({}, OptimizerScalar::iteration), -1);
}

} // namespace
