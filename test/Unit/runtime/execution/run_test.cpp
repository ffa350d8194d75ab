// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs of the hand-written model: results, checks, metrics, the floating-point environment.
#include "test/Unit/runtime/execution/fake_model.h"

#include "mpc-rt/watch.h"
#include "runtime/base/rounding.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>
#include <xmmintrin.h>

namespace {

bool lastErrorHas(const char *text) { return std::strstr(mpc_rt_last_error(), text) != nullptr; }

class Run : public ::testing::Test {
protected:
  void setKernel(std::vector<float> values) {
    ASSERT_EQ(mpc_rt_context_set_variable(context.handle, fake::kernel, MPC_RT_FLOAT32,
                                          values.data(), values.size() * 4),
              MPC_RT_OK);
  }
  std::vector<float> predict(const std::vector<float> &x) {
    std::vector<float> y(x.size() / 3 * 2, -7.0f);
    const void *inputs[] = {x.data()};
    void *outputs[] = {y.data()};
    EXPECT_EQ(mpc_rt_context_run(context.handle, fake::predict, inputs, outputs,
                                 static_cast<int64_t>(x.size() / 3)),
              MPC_RT_OK)
        << mpc_rt_last_error();
    return y;
  }
  mpc_rt_status_t train() {
    return mpc_rt_context_run(context.handle, fake::trainStep, nullptr, nullptr, 1);
  }
  fake::Context context;
};

TEST_F(Run, SaysWhichLayerHadTheFirstValueThatIsNotFinite) {
  int32_t isComputed = -1;
  const std::vector<float> plain = predict({1, 2, 3});
  ASSERT_EQ(mpc_rt_context_watch(context.handle, 1), MPC_RT_OK) << mpc_rt_last_error();
  EXPECT_EQ(predict({1, 2, 3}), plain);
  EXPECT_EQ(mpc_rt_context_watched_layer(context.handle, &isComputed), nullptr);
  predict({1, INFINITY, 3});
  EXPECT_STREQ(mpc_rt_context_watched_layer(context.handle, &isComputed), "dense");
  EXPECT_EQ(isComputed, 0);
  // The first one stays until it is forgotten.
  ASSERT_EQ(mpc_rt_context_watch(context.handle, 1), MPC_RT_OK);
  EXPECT_EQ(mpc_rt_context_watched_layer(context.handle, nullptr), nullptr);
  predict({3e38f, 3e38f, 3e38f});
  EXPECT_STREQ(mpc_rt_context_watched_layer(context.handle, &isComputed), "dense");
  EXPECT_EQ(isComputed, 1);
  ASSERT_EQ(mpc_rt_context_watch(context.handle, 0), MPC_RT_OK);
  EXPECT_EQ(mpc_rt_context_watched_layer(context.handle, nullptr), nullptr);
  EXPECT_EQ(predict({1, 2, 3}), plain);
  EXPECT_EQ(mpc_rt_context_watch(nullptr, 1), MPC_RT_INVALID_ARGUMENT);
}

TEST_F(Run, PredictsADenseLayer) {
  setKernel({1, -1, 2, -2, 3, -3});
  auto y = predict({1, 1, 1, 0, 0, 1});
  EXPECT_EQ(y, (std::vector<float>{6.5f, 0, 3.5f, 0}));
  EXPECT_TRUE(predict({}).empty());
}

// Means over no rows would be NaN in the model and its metrics; predictions of none are none.
TEST_F(Run, RefusesMeansOverNoRows) {
  float loss = 0;
  int32_t id = 0;
  const void *inputs[] = {&id};
  void *outputs[] = {&loss};
  EXPECT_EQ(mpc_rt_context_run(context.handle, fake::evaluate, inputs, outputs, 0),
            MPC_RT_INVALID_ARGUMENT);
  EXPECT_TRUE(lastErrorHas("evaluate: batch 0; expected at least 1 row")) << mpc_rt_last_error();
  EXPECT_TRUE(predict({}).empty());
}

TEST_F(Run, KeepsNaNThroughRelu) {
  setKernel({1, -1, 2, -2, 3, -3});
  auto y = predict({NAN, 0, 0, -INFINITY, 0, 0});
  EXPECT_TRUE(std::isnan(y[0]) && std::isnan(y[1]));
  EXPECT_EQ(y[2], 0.0f);
  EXPECT_EQ(y[3], INFINITY);
}

TEST_F(Run, SeesEveryChangeOfTheWeights) {
  setKernel({1, 1, 1, 1, 1, 1});
  EXPECT_EQ(predict({1, 1, 1})[0], 3.5f);
  EXPECT_EQ(predict({1, 1, 1})[0], 3.5f);
  ASSERT_EQ(train(), MPC_RT_OK);
  EXPECT_EQ(predict({1, 1, 1})[0], 6.5f);
  setKernel({3, 3, 3, 3, 3, 3});
  EXPECT_EQ(predict({1, 1, 1})[0], 9.5f);
  context.variable<float>(fake::kernel)[0] = 5;
  ASSERT_EQ(mpc_rt_context_variables_changed(context.handle), MPC_RT_OK);
  EXPECT_EQ(predict({1, 1, 1})[0], 11.5f);
}

TEST_F(Run, ComputesMetricResults) {
  context.variable<float>(fake::total)[0] = 3;
  double value = -1;
  ASSERT_EQ(mpc_rt_context_metric(context.handle, 2, &value), MPC_RT_OK) << mpc_rt_last_error();
  EXPECT_EQ(value, 6.0);
  EXPECT_EQ(mpc_rt_context_metric(context.handle, 3, &value), MPC_RT_INVALID_ARGUMENT);
  EXPECT_NE(std::string(mpc_rt_last_error()).find("'parts' is a vector of 2"), std::string::npos)
      << mpc_rt_last_error();
}

TEST_F(Run, CountsMetrics) {
  int32_t ids[] = {1, 2, 3, 4, 0, 0, 0, 6};
  float loss = 0;
  mpc_rt_buffer_t in = {ids, MPC_RT_INT32, 2, {2, 4}}, out = {&loss, MPC_RT_FLOAT32, 0, {}};
  double value = -1;
  EXPECT_EQ(mpc_rt_context_metric(context.handle, 0, &value), MPC_RT_OK);
  EXPECT_EQ(value, 0.0);
  ASSERT_EQ(mpc_rt_context_run_checked(context.handle, fake::evaluate, &in, 1, &out, 1), MPC_RT_OK)
      << mpc_rt_last_error();
  EXPECT_EQ(mpc_rt_context_metric(context.handle, 0, &value), MPC_RT_OK);
  EXPECT_EQ(value, 8.0);
  EXPECT_EQ(mpc_rt_context_metric(context.handle, 1, &value), MPC_RT_OK);
  EXPECT_EQ(value, std::sqrt(8.0));
  EXPECT_EQ(mpc_rt_context_reset_metrics(context.handle), MPC_RT_OK);
  EXPECT_EQ(mpc_rt_context_metric(context.handle, 0, &value), MPC_RT_OK);
  EXPECT_EQ(value, 0.0);
  EXPECT_EQ(mpc_rt_context_metric(context.handle, 9, &value), MPC_RT_INVALID_ARGUMENT);
}

TEST_F(Run, ChecksViews) {
  int32_t ids[8] = {};
  float loss = 0;
  mpc_rt_buffer_t in = {ids, MPC_RT_INT32, 2, {2, 4}}, out = {&loss, MPC_RT_FLOAT32, 0, {}};
  auto run = [&](mpc_rt_buffer_t input, uint32_t count = 1) {
    return mpc_rt_context_run_checked(context.handle, fake::evaluate, &input, count, &out, 1);
  };
  EXPECT_EQ(run(in), MPC_RT_OK);
  EXPECT_EQ(run(in, 2), MPC_RT_INVALID_ARGUMENT);
  EXPECT_TRUE(lastErrorHas("2 inputs and 1 outputs given; expected 1 and 1"))
      << mpc_rt_last_error();
  EXPECT_EQ(mpc_rt_context_run_checked(context.handle, fake::evaluate, nullptr, 1, &out, 1),
            MPC_RT_INVALID_ARGUMENT);
  EXPECT_TRUE(lastErrorHas("the array of inputs or outputs is null")) << mpc_rt_last_error();
  auto wrong = in;
  wrong.dtype = MPC_RT_FLOAT32;
  EXPECT_EQ(run(wrong), MPC_RT_INVALID_ARGUMENT);
  EXPECT_TRUE(lastErrorHas("'ids' has dtype float32; expected int32")) << mpc_rt_last_error();
  wrong = in;
  wrong.dims[1] = 5;
  EXPECT_EQ(run(wrong), MPC_RT_INVALID_ARGUMENT);
  EXPECT_TRUE(lastErrorHas("(2, 5); expected (batch, 4)")) << mpc_rt_last_error();
  wrong = in;
  wrong.rank = 200;
  EXPECT_EQ(run(wrong), MPC_RT_INVALID_ARGUMENT);
  wrong = in;
  wrong.data = nullptr;
  EXPECT_EQ(run(wrong), MPC_RT_INVALID_ARGUMENT);
  wrong = in;
  wrong.dims[0] = INT64_MAX;
  EXPECT_EQ(run(wrong), MPC_RT_INVALID_ARGUMENT);
  wrong.dims[0] = -3;
  EXPECT_EQ(run(wrong), MPC_RT_INVALID_ARGUMENT);
}

// A library for several shapes runs the entry that fits; where none does, it tells all shapes.
TEST_F(Run, RunsTheEntryForTheShape) {
  float x[] = {1, 0, 0, 0, 0, 2, 9}, y[2] = {};
  mpc_rt_buffer_t in = {x, MPC_RT_FLOAT32, 2, {1, 6}}, out = {y, MPC_RT_FLOAT32, 2, {1, 2}};
  for (uint32_t entry : {fake::predict, fake::predictOfSix}) {
    y[0] = y[1] = 0;
    ASSERT_EQ(mpc_rt_context_run_checked(context.handle, entry, &in, 1, &out, 1), MPC_RT_OK)
        << mpc_rt_last_error();
    EXPECT_EQ(y[0], 3);
    EXPECT_EQ(y[1], 6);
  }
  setKernel({1, -1, 2, -2, 3, -3});
  in.dims[1] = 3;
  ASSERT_EQ(mpc_rt_context_run_checked(context.handle, fake::predictOfSix, &in, 1, &out, 1),
            MPC_RT_OK);
  EXPECT_EQ(y[0], 1.5f);
  in.dims[1] = 7;
  EXPECT_EQ(mpc_rt_context_run_checked(context.handle, fake::predict, &in, 1, &out, 1),
            MPC_RT_INVALID_ARGUMENT);
  EXPECT_TRUE(lastErrorHas("(1, 7); expected (batch, 3) or (1, 6)")) << mpc_rt_last_error();
}

TEST_F(Run, ChecksIndices) {
  int32_t ids[8] = {0, 1, 2, 3, 4, 9, 10, 5};
  float loss = 0;
  mpc_rt_buffer_t in = {ids, MPC_RT_INT32, 2, {2, 4}}, out = {&loss, MPC_RT_FLOAT32, 0, {}};
  EXPECT_EQ(mpc_rt_context_run_checked(context.handle, fake::evaluate, &in, 1, &out, 1),
            MPC_RT_INVALID_ARGUMENT);
  EXPECT_TRUE(lastErrorHas("'ids' row 1 has the value 10; expected 0 to 9")) << mpc_rt_last_error();
  ids[6] = -1;
  EXPECT_EQ(mpc_rt_context_run_checked(context.handle, fake::evaluate, &in, 1, &out, 1),
            MPC_RT_INVALID_ARGUMENT);
  EXPECT_TRUE(lastErrorHas("row 1 has the value -1")) << mpc_rt_last_error();
  in.dims[0] = 0; // none of them is wrong
  EXPECT_EQ(mpc_rt_context_run_checked(context.handle, fake::evaluate, &in, 1, &out, 1),
            MPC_RT_INVALID_ARGUMENT);
  EXPECT_TRUE(lastErrorHas("evaluate: batch 0")) << mpc_rt_last_error();
}

/// Sets the third of eight ids: in row 0 of two, whether it is taken, and what is said otherwise.
template <typename Type>
void expectFloatingIds(mpc_rt_context_t *context, uint32_t entry, Type (*make)(double)) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  const std::vector<std::pair<double, bool>> cases = {
      {0, true},     {9, true},         {9.5, true},
      {-0.0, true},  {-0.5, true}, // the whole part
      {10, false},   {-1, false},       {-1.5, false},
      {1e4, false},  {-1e4, false},     {nan, false},
      {-nan, false}, {infinity, false}, {-infinity, false}};
  for (auto [value, taken] : cases) {
    Type ids[8];
    std::fill_n(ids, 8, make(3));
    ids[2] = make(value);
    float result = 0;
    mpc_rt_buffer_t in = {ids, mpc_rt_dtype_t(0), 2, {2, 4}},
                    out = {&result, MPC_RT_FLOAT32, 0, {}};
    in.dtype = entry == fake::rowsOfFloat32   ? MPC_RT_FLOAT32
               : entry == fake::rowsOfFloat64 ? MPC_RT_FLOAT64
               : entry == fake::rowsOfFloat16 ? MPC_RT_FLOAT16
                                              : MPC_RT_BFLOAT16;
    const mpc_rt_status_t status = mpc_rt_context_run_checked(context, entry, &in, 1, &out, 1);
    EXPECT_EQ(status, taken ? MPC_RT_OK : MPC_RT_INVALID_ARGUMENT) << value;
    if (!taken)
      EXPECT_TRUE(lastErrorHas("input 'ids' row 0 has the value") &&
                  lastErrorHas("expected 0 to 9"))
          << value << ": " << mpc_rt_last_error();
  }
}

/// Fractions are cut off as Keras does; a number that is none names no row.
TEST_F(Run, ChecksFloatingIndices) {
  using mpc::rt::roundToBFloat16;
  using mpc::rt::roundToFloat16;
  auto in32 = [](double value) { return float(value); };
  auto in64 = [](double value) { return value; };
  auto in16 = [](double value) -> uint16_t { return roundToFloat16(float(value)); };
  auto inBrain = [](double value) -> uint16_t { return roundToBFloat16(float(value)); };
  expectFloatingIds<float>(context.handle, fake::rowsOfFloat32, in32);
  expectFloatingIds<double>(context.handle, fake::rowsOfFloat64, in64);
  expectFloatingIds<uint16_t>(context.handle, fake::rowsOfFloat16, in16);
  expectFloatingIds<uint16_t>(context.handle, fake::rowsOfBFloat16, inBrain);
}

TEST_F(Run, FlushesDenormalsInsideOnly) {
  float result = -1;
  void *outputs[] = {&result};
  unsigned before = _mm_getcsr();
  _mm_setcsr(before | _MM_ROUND_UP);
  ASSERT_EQ(mpc_rt_context_run(context.handle, fake::flush, nullptr, outputs, 1), MPC_RT_OK);
  unsigned after = _mm_getcsr();
  _mm_setcsr(before);
  EXPECT_EQ(result, 0.0f);
  EXPECT_EQ(after & ~0x3fu, (before | _MM_ROUND_UP) & ~0x3fu);
}

TEST_F(Run, ReportsFailures) {
  EXPECT_EQ(mpc_rt_context_run(context.handle, fake::failing, nullptr, nullptr, 1),
            MPC_RT_INTERNAL);
  EXPECT_TRUE(lastErrorHas("fail: the compiled code failed")) << mpc_rt_last_error();
  EXPECT_EQ(mpc_rt_context_run(context.handle, fake::huge, nullptr, nullptr, 1),
            MPC_RT_RESOURCE_EXHAUSTED);
  EXPECT_EQ(mpc_rt_context_run(context.handle, fake::huge, nullptr, nullptr, 2),
            MPC_RT_INVALID_ARGUMENT);
  EXPECT_EQ(mpc_rt_context_run(context.handle, 77, nullptr, nullptr, 1), MPC_RT_INVALID_ARGUMENT);
  EXPECT_EQ(mpc_rt_context_run(context.handle, fake::predict, nullptr, nullptr, 1),
            MPC_RT_INVALID_ARGUMENT);
  const void *inputs[] = {nullptr};
  void *outputs[] = {nullptr};
  EXPECT_EQ(mpc_rt_context_run(context.handle, fake::predict, inputs, outputs, 1),
            MPC_RT_INVALID_ARGUMENT);
  EXPECT_TRUE(lastErrorHas("input 'x' is null")) << mpc_rt_last_error();
  EXPECT_EQ(mpc_rt_context_run(context.handle, fake::predict, inputs, outputs, -1),
            MPC_RT_INVALID_ARGUMENT);
}

TEST_F(Run, GrowsTheArena) {
  ASSERT_EQ(mpc_rt_context_run(context.handle, fake::trainStep, nullptr, nullptr, 100), MPC_RT_OK);
  ASSERT_EQ(train(), MPC_RT_OK);
  mpc_rt_memory_t memory = {};
  memory.struct_size = sizeof(memory);
  ASSERT_EQ(mpc_rt_context_memory(context.handle, &memory), MPC_RT_OK);
  EXPECT_EQ(memory.arena_planned_bytes, 64u + 100 * 128);
  EXPECT_EQ(memory.arena_allocated_bytes, 64u + 100 * 128);
}

TEST(RunOnNull, ValidatesWithoutComputing) {
  fake::Context context(2, "null");
  EXPECT_EQ(mpc_rt_context_computes(context.handle), 0);
  float before = context.variable<float>(fake::kernel)[0];
  EXPECT_EQ(mpc_rt_context_run(context.handle, fake::trainStep, nullptr, nullptr, 1), MPC_RT_OK);
  EXPECT_EQ(context.variable<float>(fake::kernel)[0], before);
}

} // namespace
