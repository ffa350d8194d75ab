// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A long training's steps are thinned out evenly, and shown.
#include "runtime/reports/html_page.h"

#include <gtest/gtest.h>

using namespace mpc::reports;

static TracedValue valueOf(const char *layer, int exponent) {
  TracedValue value;
  value.layer = layer;
  value.op = "add";
  value.counts.count = 7;
  value.counts.max_magnitude = 1;
  value.exponents = {{exponent, 7}};
  return value;
}

TEST(StepHistory, ThinsOutEvenly) {
  StepHistory history;
  for (int64_t step = 0; step < 1000; step += 5)
    history.add(step, {valueOf("dense", static_cast<int>(step / 100))});
  const std::vector<int64_t> &steps = history.steps();
  ASSERT_LE(steps.size(), StepHistory::mostSteps);
  ASSERT_GE(steps.size(), StepHistory::mostSteps / 2);
  for (size_t i = 0; i < steps.size(); ++i)
    EXPECT_EQ(steps[i], static_cast<int64_t>(i) * steps[1]);
  const std::vector<StepHistory::Bars> *bars = history.find("dense");
  ASSERT_TRUE(bars);
  ASSERT_EQ(bars->size(), steps.size());
  for (size_t i = 0; i < steps.size(); ++i)
    EXPECT_EQ((*bars)[i][static_cast<size_t>(steps[i] / 100 - StepHistory::firstExponent) / 2], 7U);
  EXPECT_FALSE(history.find("other"));
}

TEST(StepHistory, LayersThatReportNothing) {
  StepHistory history;
  history.add(0, {valueOf("first", 0)});
  history.add(1, {valueOf("second", 100), valueOf("second", -100)});
  ASSERT_EQ(history.find("first")->size(), 2U);
  EXPECT_EQ(history.find("first")->back(), StepHistory::Bars());
  EXPECT_EQ(history.find("second")->front(), StepHistory::Bars());
  EXPECT_EQ(history.find("second")->back().front(), 7U);
  EXPECT_EQ(history.find("second")->back().back(), 7U);
}

TEST(StepHistory, IsOnThePage) {
  StepHistory history;
  history.add(3, {valueOf("dense", 0)});
  history.add(9, {valueOf("dense", 1)});
  const std::string page = writePage("Numbers", {valueOf("dense", 1)}, &history);
  EXPECT_NE(page.find("<svg class=\"steps\" viewBox=\"0 0 2 33\""), std::string::npos);
  EXPECT_NE(page.find("<title>step 9</title>"), std::string::npos);
  EXPECT_NE(page.find("over steps 3 to 9"), std::string::npos);
  EXPECT_EQ(writePage("Numbers", {valueOf("dense", 1)}).find("class=\"steps\""), std::string::npos);
}
