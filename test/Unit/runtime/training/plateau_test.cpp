// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Early stopping against the rules of keras/src/callbacks/early_stopping.py.
#include "training/plateau.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace mpc::training;

/// The epoch after which a series of values stops training; -1 if none.
static int64_t stopsAfter(const EarlyStopOptions &options, const std::vector<double> &values) {
  EarlyStop callback(options);
  for (size_t epoch = 0; epoch < values.size(); ++epoch) {
    Logs logs = {{options.monitor, values[epoch]}};
    std::string stop;
    EXPECT_TRUE(callback.epochEnd(static_cast<int64_t>(epoch), logs, stop));
    if (!stop.empty())
      return static_cast<int64_t>(epoch);
  }
  return -1;
}

TEST(EarlyStop, WaitsForPatience) {
  EarlyStopOptions options;
  options.patience = 2;
  EXPECT_EQ(stopsAfter(options, {3, 2, 2, 2, 2}), 3);
  EXPECT_EQ(stopsAfter(options, {3, 2, 2.5, 1, 1.5, 1.5}), 5);
  EXPECT_EQ(stopsAfter(options, {3, 2, 1, 0, -1}), -1);
  options.patience = 0;
  EXPECT_EQ(stopsAfter(options, {1, 1}), 1);
  EXPECT_EQ(stopsAfter(options, {1, 0.5, 0.7}), 2);
}

TEST(EarlyStop, DirectionAndMinimumChange) {
  EarlyStopOptions options;
  options.larger = true;
  options.patience = 1;
  EXPECT_EQ(stopsAfter(options, {0.1, 0.2, 0.2}), 2);
  options.minDelta = 0.15;
  EXPECT_EQ(stopsAfter(options, {0.1, 0.2, 0.3}), 1);
  options.startFromEpoch = 2;
  EXPECT_EQ(stopsAfter(options, {0.1, 0.1, 0.1, 0.1}), 3);
}

TEST(EarlyStop, NaNIsNoImprovement) {
  EarlyStopOptions options;
  options.patience = 1;
  EXPECT_EQ(stopsAfter(options, {1, NAN}), 1);
  EXPECT_EQ(stopsAfter(options, {NAN, NAN}), 1);
}

TEST(EarlyStop, StateSurvives) {
  EarlyStopOptions options;
  options.patience = 3;
  EarlyStop before(options), after(options);
  for (int64_t epoch = 0; epoch < 3; ++epoch) {
    Logs logs = {{"val_loss", 0.1}};
    std::string stop;
    ASSERT_TRUE(before.epochEnd(epoch, logs, stop));
  }
  CallbackState state;
  before.save(state);
  after.restore(state);
  Logs logs = {{"val_loss", 0.1}};
  std::string stop;
  ASSERT_TRUE(after.epochEnd(3, logs, stop));
  EXPECT_NE(stop, "");
}

TEST(EarlyStop, AutomaticDirection) {
  EXPECT_TRUE(largerIsBetter("val_accuracy"));
  EXPECT_TRUE(largerIsBetter("auc"));
  EXPECT_FALSE(largerIsBetter("val_loss"));
  EXPECT_FALSE(largerIsBetter("mean_squared_error"));
}

TEST(TerminateOnNaN, StopsOnlyForNonFiniteLosses) {
  TerminateOnNaN callback;
  EXPECT_EQ(callback.stepEnd({0, 1, 1.0f, false}), "");
  EXPECT_NE(callback.stepEnd({0, 1, NAN, true}), "");
  EXPECT_NE(callback.stepEnd({0, 1, INFINITY, true}), "");
}
