// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// When the watcher speaks, and what it says.
#include "mpc-rt/scaler.h"

#include <cmath>
#include <gtest/gtest.h>
#include <string>

namespace {

class Diagnosis : public ::testing::Test {
protected:
  Diagnosis() {
    mpc_rt_scaler_options_t options;
    mpc_rt_scaler_options_init(&options);
    options.patience = 5;
    EXPECT_EQ(mpc_rt_scaler_create(&options, &scaler), MPC_RT_OK);
  }
  ~Diagnosis() override { mpc_rt_scaler_release(scaler); }
  // True when there is a new diagnosis.
  bool step(bool finite, float scale, float loss = 1.0f, const uint8_t *flags = nullptr) {
    static const char *const names[] = {"encoder/dense/kernel", "head/kernel", "head/bias"};
    mpc_rt_scaler_step_t step = {};
    step.struct_size = sizeof(step);
    step.finite = finite;
    step.scale = scale;
    step.loss = loss;
    step.gradient_finite = flags;
    step.gradient_names = names;
    step.gradient_count = 3;
    int32_t diagnosed = -1;
    EXPECT_EQ(mpc_rt_scaler_observe(scaler, &step, &diagnosed), MPC_RT_OK);
    return diagnosed == 1;
  }
  bool says(const char *text) const {
    return std::string(mpc_rt_scaler_diagnosis(scaler)).find(text) != std::string::npos;
  }
  mpc_rt_scaler_t *scaler = nullptr;
};

TEST_F(Diagnosis, IsSilentOnOrdinarySkips) {
  float scale = 32768;
  for (int i = 0; i < 50; ++i)
    EXPECT_FALSE(step(i % 5 == 4, scale));
  EXPECT_STREQ(mpc_rt_scaler_diagnosis(scaler), "");
  EXPECT_EQ(mpc_rt_scaler_skipped(scaler), 40u);
  EXPECT_EQ(mpc_rt_scaler_consecutive_skips(scaler), 0u);
}

TEST_F(Diagnosis, SaysOnceThatTheScaleIsBelowOne) {
  float scale = 4;
  unsigned said = 0;
  // Every fourth step fails: never two in a row.
  for (int i = 0; i < 40; ++i) {
    const bool finite = i % 4 != 3;
    if (step(finite, finite ? scale : scale /= 2)) {
      ++said;
      EXPECT_TRUE(says("step 12: the loss scale has fallen below 1, after 3 skipped steps"))
          << mpc_rt_scaler_diagnosis(scaler);
    }
  }
  EXPECT_EQ(said, 1u);
}

TEST_F(Diagnosis, NamesTheFirstLayerAfterARunOfSkips) {
  const uint8_t flags[] = {1, 0, 0};
  EXPECT_FALSE(step(true, 1024));
  float scale = 1024;
  for (int i = 0; i < 4; ++i)
    EXPECT_FALSE(step(false, scale /= 2, 1.0f, flags));
  EXPECT_TRUE(step(false, scale /= 2, 1.0f, flags));
  EXPECT_TRUE(says("step 6: 5 steps in a row")) << mpc_rt_scaler_diagnosis(scaler);
  EXPECT_TRUE(says("from 1024 to 32")) << mpc_rt_scaler_diagnosis(scaler);
  EXPECT_TRUE(says("'head' (head/kernel)")) << mpc_rt_scaler_diagnosis(scaler);
  EXPECT_TRUE(says("the loss is finite")) << mpc_rt_scaler_diagnosis(scaler);
  EXPECT_FALSE(step(false, scale /= 2)) << "said once per run";
  EXPECT_EQ(mpc_rt_scaler_consecutive_skips(scaler), 6u);
}

TEST_F(Diagnosis, TellsAFailingForwardPass) {
  // Three such steps tell; five are waited for where the loss is finite.
  for (int i = 0; i < 2; ++i)
    EXPECT_FALSE(step(false, 1, NAN));
  EXPECT_TRUE(step(false, 1, NAN));
  EXPECT_TRUE(says("the loss itself is nan")) << mpc_rt_scaler_diagnosis(scaler);
  EXPECT_TRUE(says("loss scaling cannot help")) << mpc_rt_scaler_diagnosis(scaler);
}

TEST_F(Diagnosis, TellsAFailingForwardPassOncePerRun) {
  unsigned said = 0;
  for (int i = 0; i < 20; ++i)
    said += step(false, 1, i % 3 ? NAN : 1.0f);
  EXPECT_EQ(said, 1u) << "two failing ones between finite losses, then patience";
  EXPECT_FALSE(step(true, 1));
  for (int i = 0; i < 20; ++i)
    said += step(false, 1, INFINITY);
  EXPECT_EQ(said, 2u);
}

TEST_F(Diagnosis, SeesALostScale) {
  EXPECT_TRUE(step(false, 0.0f));
  EXPECT_TRUE(says("fallen to 0")) << mpc_rt_scaler_diagnosis(scaler);
  EXPECT_FALSE(step(false, 0.0f)) << "said once";
}

TEST_F(Diagnosis, SeesAnInfiniteScale) {
  EXPECT_FALSE(step(true, 1e38f));
  EXPECT_TRUE(step(true, INFINITY));
  EXPECT_TRUE(says("grown to inf")) << mpc_rt_scaler_diagnosis(scaler);
}

TEST_F(Diagnosis, RefusesAnUnsizedStep) {
  mpc_rt_scaler_step_t step = {};
  EXPECT_EQ(mpc_rt_scaler_observe(scaler, &step, nullptr), MPC_RT_INVALID_ARGUMENT);
}

} // namespace
