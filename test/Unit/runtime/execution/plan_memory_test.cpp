// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// mpc_rt_context_plan_memory: what a run will hold, before there is one.
#include "test/Unit/runtime/execution/fake_model.h"

#include <gtest/gtest.h>
#include <vector>

namespace {

mpc_rt_memory_t held(mpc_rt_context_t *context) {
  mpc_rt_memory_t memory = {};
  memory.struct_size = sizeof memory;
  EXPECT_EQ(mpc_rt_context_memory(context, &memory), MPC_RT_OK);
  return memory;
}

mpc_rt_memory_t planned(mpc_rt_context_t *context, uint32_t entry, int64_t batch) {
  mpc_rt_memory_t memory = {};
  memory.struct_size = sizeof memory;
  EXPECT_EQ(mpc_rt_context_plan_memory(context, entry, batch, &memory), MPC_RT_OK)
      << mpc_rt_last_error();
  return memory;
}

TEST(PlanMemory, IsWhatARunHolds) {
  constexpr int64_t batch = 50;
  std::vector<float> x(batch * 2, 0.5f), y(batch * 3);
  const void *inputs[] = {x.data()};
  void *outputs[] = {y.data()};
  for (const char *device : {"cpu", "null"}) {
    fake::Context context(2, device);
    const mpc_rt_memory_t plan = planned(context.handle, fake::predict, batch);
    EXPECT_EQ(plan.library_bytes, held(context.handle).library_bytes);
    ASSERT_EQ(mpc_rt_context_run(context.handle, fake::predict, inputs, outputs, batch), MPC_RT_OK);
    EXPECT_EQ(held(context.handle).library_bytes, plan.library_bytes) << device;
    EXPECT_EQ(planned(context.handle, fake::trainStep, 3).arena_planned_bytes, 64u + 3 * 128);
  }
}

TEST(PlanMemory, ComputesNothing) {
  fake::Context context;
  const float kernel = context.variable<float>(fake::kernel)[0];
  context.variable<float>(fake::seen)[0] = 5;
  for (uint32_t entry : {fake::predict, fake::trainStep, fake::evaluate, fake::metricResults})
    planned(context.handle, entry, 4);
  EXPECT_EQ(context.variable<float>(fake::kernel)[0], kernel);
  EXPECT_EQ(context.variable<float>(fake::seen)[0], 5);
  // It computes again afterwards.
  ASSERT_EQ(mpc_rt_context_run(context.handle, fake::trainStep, nullptr, nullptr, 1), MPC_RT_OK);
  EXPECT_NE(context.variable<float>(fake::kernel)[0], kernel);
}

TEST(PlanMemory, ReportsWhatRunsReport) {
  fake::Context context;
  mpc_rt_memory_t memory = {};
  EXPECT_EQ(mpc_rt_context_plan_memory(context.handle, fake::predict, 1, &memory),
            MPC_RT_INVALID_ARGUMENT); // struct_size
  memory.struct_size = sizeof memory;
  EXPECT_EQ(mpc_rt_context_plan_memory(nullptr, fake::predict, 1, &memory),
            MPC_RT_INVALID_ARGUMENT);
  EXPECT_EQ(mpc_rt_context_plan_memory(context.handle, 99, 1, &memory), MPC_RT_INVALID_ARGUMENT);
  EXPECT_EQ(mpc_rt_context_plan_memory(context.handle, fake::predict, -1, &memory),
            MPC_RT_INVALID_ARGUMENT);
  EXPECT_EQ(mpc_rt_context_plan_memory(context.handle, fake::huge, 2, &memory),
            MPC_RT_INVALID_ARGUMENT);
  EXPECT_NE(mpc_rt_context_plan_memory(context.handle, fake::failing, 1, &memory), MPC_RT_OK);
}

} // namespace
