// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The tool's own parts of the search: options, differences of results, sensitivities.
#include "tools/mpcc/search/Measurement.h"
#include "tools/mpcc/search/Sensitivities.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace mpc;

namespace {

std::string faultOf(llvm::StringRef modes) {
  SearchOptions options;
  return llvm::toString(parseSearchModes(modes, options));
}

Measurement measured(double loss, std::vector<float> outputs) {
  MeasuredStage stage;
  stage.metrics["loss"] = {loss};
  stage.metrics["f1"] = {0.5, loss};
  stage.outputs.emplace(
      "out0", data::Array::copyOf(MPC_RT_FLOAT32, {int64_t(outputs.size())}, outputs.data()));
  return {{stage}};
}

} // namespace

TEST(SearchOptions, Modes) {
  SearchOptions options;
  ASSERT_FALSE(
      parseSearchModes(":memory,mixed_bfloat16,int8_from_float32,mixed_bfloat16,proved", options));
  EXPECT_EQ(options.policies, (std::vector<std::string>{"mixed_bfloat16", "int8_from_float32"}));
  EXPECT_EQ(options.objective, SearchObjective::Memory);
  EXPECT_TRUE(options.isProved);
  EXPECT_EQ(faultOf(""), "");
  EXPECT_EQ(faultOf(":float32"), "");
  EXPECT_NE(faultOf(":"), "");
  EXPECT_NE(faultOf(":speed,"), "");
  EXPECT_NE(faultOf(":speed,memory"), "");
  EXPECT_NE(faultOf(":int32"), "");
  EXPECT_NE(faultOf(":float64"), "");
}

TEST(SearchOptions, Metrics) {
  llvm::Expected<MetricTolerance> metric = parseMetric("out:accuracy:0.01");
  ASSERT_TRUE(bool(metric));
  EXPECT_EQ(metric->name, "out:accuracy");
  EXPECT_EQ(metric->tolerance, 0.01);
  for (const char *wrong :
       {"", "loss", "loss:", ":1", "loss:-1", "loss:nan", "loss:inf", "loss:x"}) {
    llvm::Expected<MetricTolerance> parsed = parseMetric(wrong);
    EXPECT_FALSE(bool(parsed)) << wrong;
    llvm::consumeError(parsed.takeError());
  }
}

TEST(Measurement, Differences) {
  const Measurement reference = measured(1, {3, 4}), other = measured(1.5, {3, 4.5});
  TrialResult result = compareMeasurements(reference, other, {{"loss", 0.5}, {"output", 0.2}});
  EXPECT_TRUE(result.holds);
  EXPECT_DOUBLE_EQ(result.excess, 1);
  EXPECT_EQ(result.text, "loss 1.5 (float32: 1), outputs off by 0.1");
  result = compareMeasurements(reference, other, {{"f1", 0.25}});
  EXPECT_FALSE(result.holds);
  EXPECT_DOUBLE_EQ(result.excess, 2);
  EXPECT_EQ(result.text, "f1[0] 0.5 (float32: 0.5), f1[1] 1.5 (float32: 1)");
  // A tolerance of 0 holds for what is equal alone.
  EXPECT_TRUE(compareMeasurements(reference, reference, {{"loss", 0}, {"output", 0}}).holds);
  EXPECT_TRUE(std::isinf(compareMeasurements(reference, other, {{"output", 0}}).excess));
  // No number is within no tolerance.
  EXPECT_FALSE(compareMeasurements(reference, measured(NAN, {3, 4}), {{"loss", 1e9}}).holds);
  EXPECT_FALSE(compareMeasurements(reference, measured(1, {3, NAN}), {{"output", 1e9}}).holds);
}

TEST(Measurement, References) {
  auto problem = [](const Measurement &reference, const char *metric) {
    return llvm::toString(checkReference(reference, {{metric, 1}}));
  };
  EXPECT_EQ(problem(measured(1, {1}), "loss"), "");
  EXPECT_EQ(problem(measured(INFINITY, {1}), "loss"), "loss is not finite in float32");
  EXPECT_EQ(problem(measured(1, {NAN}), "output"), "the output 'out0' is not finite in float32");
  EXPECT_EQ(
      problem(measured(1, {1}), "auc"),
      "the model has no metric 'auc'; expected one of f1, loss, output; --metrics= adds some");
}

TEST(Measurement, ReadsJson) {
  auto metrics = readMetrics(R"({"loss": 0.5, "f1": [1, "nan"], "big": "inf"})");
  ASSERT_TRUE(bool(metrics));
  EXPECT_EQ(metrics->at("loss"), std::vector<double>{0.5});
  EXPECT_TRUE(std::isnan(metrics->at("f1")[1]));
  EXPECT_TRUE(std::isinf(metrics->at("big")[0]));
  llvm::Expected<std::map<std::string, std::vector<double>>> none = readMetrics("{");
  EXPECT_FALSE(bool(none));
  llvm::consumeError(none.takeError());
}

TEST(Sensitivities, RoundingsTimesGradients) {
  auto sensitivities = readSensitivities(R"({"values": [
    {"layer": "a", "direction": "forward", "dtype": "bfloat16", "count": 4, "rms": 2},
    {"layer": "a", "direction": "backward", "dtype": "float32", "count": 4, "rms": 3},
    {"layer": "a", "direction": "backward", "dtype": "float32", "count": 8, "rms": 9},
    {"layer": "b", "direction": "forward", "dtype": "float32", "count": 4, "rms": 2},
    {"layer": "c", "direction": "forward", "dtype": "float16", "count": 4, "rms": 2, "inf": 1},
    {"layer": "d", "direction": "forward", "dtype": "float16", "count": 4, "rms": 2,
     "error": {"rms": 0.5}},
    {"layer": "e", "direction": "forward", "dtype": "float16", "count": 4, "rms": 2, "underflow": 1},
    {"layer": "e", "direction": "backward", "dtype": "float16", "count": 1, "rms": 1}
  ]})");
  ASSERT_TRUE(bool(sensitivities));
  EXPECT_DOUBLE_EQ(sensitivities->at("a"), std::sqrt(4.0) * 2 * 0x1p-9 * 3);
  EXPECT_EQ(sensitivities->at("b"), 0);
  EXPECT_GT(sensitivities->at("c"), 1e200);
  EXPECT_DOUBLE_EQ(sensitivities->at("d"), 0.25);
  // A quarter of the elements is lost, which is more than roundings.
  EXPECT_DOUBLE_EQ(sensitivities->at("e"), std::sqrt(4.0) * 2 * 0.25 * 1);
}
