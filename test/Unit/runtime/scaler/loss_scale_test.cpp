// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The state machine against every step that Keras recorded (policies/loss_scale.json), bit by bit,
// with SGD on the side to see that steps are applied when Keras applies them.
#include "mpc-rt/scaler.h"
#include "runtime/base/floating_environment.h"
#include "runtime/base/rounding.h"
#include "runtime/scaler/loss_scale.h"
#include "test/Unit/Fixtures.h"

#include <cmath>
#include <fstream>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace mpc::rt;
using nlohmann::json;

namespace {

json fixture() {
  auto path = mpc::test::fixturePath("policies/loss_scale.json");
  std::ifstream file(path);
  EXPECT_TRUE(file.is_open()) << path << " is missing; scripts/build unpacks it";
  return file.is_open() ? json::parse(file) : json::object();
}

float gradientOf(const json &value) {
  if (value == "nan")
    return std::nanf("");
  if (value == "inf" || value == "-inf")
    return value == "inf" ? INFINITY : -INFINITY;
  return value.get<float>();
}

uint32_t bits(const json &text) {
  return static_cast<uint32_t>(std::stoul(text.get<std::string>(), nullptr, 16));
}

// Keras: unscale with the old scale, then v -= lr * g. Not inlined, so that the compiler cannot
// move the arithmetic out of the flushing mode.
__attribute__((noinline)) float updated(float variable, float gradient, float scale, float rate) {
  FlushDenormals flush;
  volatile float unscaled = gradient / scale;
  volatile float step = unscaled * rate;
  return variable - step;
}

void replay(const json &sequence) {
  SCOPED_TRACE(sequence["id"].get<std::string>());
  LossScaleRule rule;
  rule.growthSteps = sequence["dynamic_growth_steps"];
  LossScale state;
  state.scale = sequence["initial_scale"].get<float>();
  if (sequence["start"].is_object()) {
    state.scale = sequence["start"].value("dynamic_scale", state.scale);
    state.stepCounter = sequence["start"].value("step_counter", int64_t{0});
    state.iterations = sequence["start"].value("iterations", int64_t{0});
  }
  float variable = floatOf(bits(sequence["v0"]));
  float rate = sequence["learning_rate"];
  size_t row = 0;
  int64_t step = 0;
  for (auto &run : sequence["gradients"]) {
    float gradient = gradientOf(run[0]);
    for (int64_t i = 0; i < run[1].get<int64_t>(); ++i) {
      bool finite = std::isfinite(gradient);
      if (finite)
        variable = updated(variable, gradient, state.scale, rate);
      state = advance(state, rule, finite);
      ++step;
      if (row == sequence["trace"].size() || sequence["trace"][row][0] != step)
        continue;
      auto &want = sequence["trace"][row++];
      ASSERT_EQ(bitsOf(state.scale), bits(want[1])) << "step " << step;
      ASSERT_EQ(state.stepCounter, want[3].get<int64_t>()) << "step " << step;
      ASSERT_EQ(state.iterations, want[4].get<int64_t>()) << "step " << step;
      ASSERT_EQ(finite, want[5].get<bool>()) << "step " << step;
      uint32_t wantBits = bits(want[6]);
      if (std::isnan(floatOf(wantBits)))
        ASSERT_TRUE(std::isnan(variable)) << "step " << step;
      else
        ASSERT_EQ(bitsOf(variable), wantBits) << "step " << step;
    }
  }
  EXPECT_EQ(row, sequence["trace"].size());
  EXPECT_EQ(step, sequence["steps"].get<int64_t>());
}

TEST(LossScale, EqualsEveryTraceOfKeras) {
  auto data = fixture();
  ASSERT_EQ(data["sequences"].size(), 35u);
  for (auto &sequence : data["sequences"])
    replay(sequence);
}

TEST(LossScale, EqualsKerasOverSeveralVariables) {
  size_t replayed = 0;
  auto data = fixture();
  for (auto &vector : data["vectors"]) {
    SCOPED_TRACE(vector["id"].get<std::string>());
    if (vector["trace"][0].contains("error_type"))
      continue; // no gradients at all is refused before any state is touched
    ++replayed;
    LossScaleRule rule;
    rule.growthSteps = vector["dynamic_growth_steps"];
    LossScale state;
    state.scale = vector["initial_scale"];
    for (size_t step = 0; step < vector["gradients"].size(); ++step) {
      bool finite = true;
      for (auto &gradient : vector["gradients"][step])
        for (auto &element : gradient.is_null() ? json::array() : gradient)
          finite = finite && std::isfinite(gradientOf(element));
      state = advance(state, rule, finite);
      auto &want = vector["trace"][step];
      EXPECT_EQ(state.scale, want["scale"].get<float>());
      EXPECT_EQ(state.stepCounter, want["step_counter"].get<int64_t>());
      EXPECT_EQ(state.iterations, want["iterations"].get<int64_t>());
      EXPECT_EQ(finite, want["applied"].get<bool>());
    }
  }
  EXPECT_EQ(replayed, 4u);
}

TEST(LossScale, KeepsItsLimits) {
  LossScaleRule rule{1, 1.0f, 8.0f};
  LossScale state{4.0f, 0, 0};
  state = advance(state, rule, true);
  EXPECT_EQ(state.scale, 8.0f);
  state = advance(state, rule, true);
  EXPECT_EQ(state.scale, 8.0f);
  for (int i = 0; i < 9; ++i)
    state = advance(state, rule, false);
  EXPECT_EQ(state.scale, 1.0f);
  EXPECT_EQ(state.iterations, 2);
}

TEST(Scaler, DrivesTheStateMachineFromC) {
  mpc_rt_scaler_t *scaler = nullptr;
  mpc_rt_scaler_options_t options;
  mpc_rt_scaler_options_init(&options);
  EXPECT_EQ(options.initial_scale, 32768.0f);
  EXPECT_EQ(options.growth_steps, 2000);
  options.growth_steps = 2;
  ASSERT_EQ(mpc_rt_scaler_create(&options, &scaler), MPC_RT_OK);
  int32_t applied = -1;
  ASSERT_EQ(mpc_rt_scaler_advance(scaler, 0, &applied), MPC_RT_OK);
  EXPECT_EQ(applied, 0);
  mpc_rt_scaler_state_t state;
  ASSERT_EQ(mpc_rt_scaler_get_state(scaler, &state), MPC_RT_OK);
  EXPECT_EQ(state.scale, 16384.0f);
  state.step_counter = 1;
  ASSERT_EQ(mpc_rt_scaler_set_state(scaler, &state), MPC_RT_OK);
  ASSERT_EQ(mpc_rt_scaler_advance(scaler, 1, &applied), MPC_RT_OK);
  ASSERT_EQ(mpc_rt_scaler_get_state(scaler, &state), MPC_RT_OK);
  EXPECT_EQ(state.scale, 32768.0f);
  EXPECT_EQ(state.step_counter, 0);
  EXPECT_EQ(state.iterations, 1);
  mpc_rt_scaler_release(scaler);
  options.minimum = 3, options.maximum = 2;
  EXPECT_EQ(mpc_rt_scaler_create(&options, &scaler), MPC_RT_INVALID_ARGUMENT);
  options.struct_size = 1;
  EXPECT_EQ(mpc_rt_scaler_create(&options, &scaler), MPC_RT_INVALID_ARGUMENT);
}

} // namespace
