// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Variables as tensors of files: names by role, open extents, and what fits.
#include "runtime/data/variable_tensor.h"

#include <gtest/gtest.h>

using namespace mpc::data;

static mpc_rt_variable_info_t variableOf(mpc_rt_role_t role, const int64_t *dims, uint32_t rank) {
  mpc_rt_variable_info_t variable = {};
  variable.role = role;
  variable.tensor.name = "dense/kernel";
  variable.tensor.dtype = MPC_RT_FLOAT32;
  variable.tensor.rank = rank;
  variable.tensor.dims = dims;
  return variable;
}

TEST(VariableTensor, NamesByRole) {
  auto name = [](mpc_rt_role_t role) { return tensorName(variableOf(role, nullptr, 0)); };
  EXPECT_EQ(name(MPC_RT_ROLE_TRAINABLE), "dense/kernel");
  EXPECT_EQ(name(MPC_RT_ROLE_NON_TRAINABLE), "dense/kernel");
  EXPECT_EQ(name(MPC_RT_ROLE_OPTIMIZER), "optimizer/dense/kernel");
  EXPECT_EQ(name(MPC_RT_ROLE_METRIC), "metric/dense/kernel");
  EXPECT_EQ(name(MPC_RT_ROLE_RANDOM), "random/dense/kernel");
  EXPECT_EQ(name(MPC_RT_ROLE_SHADOW), "");
  EXPECT_TRUE(hasPrefix("metric/total", metricPrefix));
  EXPECT_FALSE(hasPrefix("metrics/total", metricPrefix));
  EXPECT_FALSE(hasPrefix("met", metricPrefix));
}

TEST(VariableTensor, OnlyTheFirstExtentMayBeOpen) {
  const int64_t open[] = {MPC_RT_DYNAMIC, 3}, fixed[] = {2, 3};
  EXPECT_EQ(dimsOf(variableOf(MPC_RT_ROLE_TRAINABLE, open, 2).tensor, 7),
            (std::vector<int64_t>{7, 3}));
  EXPECT_EQ(dimsOf(variableOf(MPC_RT_ROLE_TRAINABLE, fixed, 2).tensor, 7),
            (std::vector<int64_t>{2, 3}));
  EXPECT_TRUE(dimsOf(variableOf(MPC_RT_ROLE_TRAINABLE, nullptr, 0).tensor, 7).empty());
}

TEST(VariableTensor, ConvertsOrSaysWhatDoesNotFit) {
  const int64_t dims[] = {2, 3};
  auto variable = variableOf(MPC_RT_ROLE_TRAINABLE, dims, 2);
  Result<Array> same = Array::allocate(MPC_RT_FLOAT32, {2, 3});
  Result<Array> wide = Array::allocate(MPC_RT_FLOAT64, {2, 3});
  Result<Array> transposed = Array::allocate(MPC_RT_FLOAT32, {3, 2});
  ASSERT_TRUE(same && wide && transposed);
  for (int i = 0; i < 6; ++i)
    reinterpret_cast<double *>(wide->data())[i] = i + 0.5;

  Result<Array> shared = fitArray(*same, variable.tensor);
  ASSERT_TRUE(shared);
  EXPECT_EQ(shared->data(), same->data());
  Result<Array> converted = fitArray(*wide, variable.tensor);
  ASSERT_TRUE(converted);
  EXPECT_EQ(converted->dtype(), MPC_RT_FLOAT32);
  EXPECT_EQ(reinterpret_cast<const float *>(converted->data())[5], 5.5f);
  Result<Array> refused = fitArray(*transposed, variable.tensor);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.failure().messages[0], "has shape [3, 2]; expected [2, 3]");
}
