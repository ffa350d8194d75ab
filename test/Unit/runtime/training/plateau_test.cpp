// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Early stopping against the rules of keras/src/callbacks/early_stopping.py.
#include "runtime/training/metric_direction.h"
#include "runtime/training/plateau.h"

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

// Keras's best value is none at first, then the first, which a NaN never makes room for.
TEST(EarlyStop, NothingIsBetterThanNaN) {
  EarlyStopOptions options;
  options.patience = 2;
  EXPECT_EQ(stopsAfter(options, {NAN, 1, 0.5, 0.25}), 2);
  EXPECT_EQ(stopsAfter(options, {INFINITY, INFINITY, INFINITY}), 2);
  options.larger = true;
  EXPECT_EQ(stopsAfter(options, {NAN, 1, 2, 3}), 2);
}

TEST(EarlyStop, StateBeforeTheFirstEpochSurvives) {
  EarlyStopOptions options;
  options.startFromEpoch = 5;
  CallbackState state;
  EarlyStop(options).save(state);
  EarlyStop after(options);
  after.restore(state);
  Logs logs = {{"val_loss", NAN}};
  std::string stop;
  ASSERT_TRUE(after.epochEnd(5, logs, stop));
  EXPECT_EQ(stop, "");
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
  // The names of Keras 3.15.1's metrics with what they say of themselves (`_direction`), and names
  // made of these.
  for (const char *name : {"accuracy",
                           "acc",
                           "auc",
                           "binary_accuracy",
                           "binary_io_u",
                           "concordance_correlation",
                           "cosine_similarity",
                           "f1_score",
                           "fbeta_score",
                           "io_u",
                           "mean_io_u",
                           "one_hot_mean_io_u",
                           "pearson_correlation",
                           "precision",
                           "precision_at_recall",
                           "r2_score",
                           "recall",
                           "recall_at_precision",
                           "sensitivity_at_specificity",
                           "specificity_at_sensitivity",
                           "sparse_top_k_categorical_accuracy",
                           "val_accuracy",
                           "val_head_r2_score_1",
                           "f1_score[2]"})
    EXPECT_EQ(largerIsBetter(name), std::optional<bool>(true)) << name;
  for (const char *name : {"binary_crossentropy", "categorical_hinge", "hinge", "kl_divergence",
                           "logcosh", "mean_absolute_error", "mean_squared_logarithmic_error",
                           "poisson", "root_mean_squared_error", "sparse_categorical_crossentropy",
                           "loss", "val_loss", "val_accuracy_head_loss", "MAE", "mse_2"})
    EXPECT_EQ(largerIsBetter(name), std::optional<bool>(false)) << name;
  for (const char *name : {"top2", "false_negatives", "val_true_positives", "mean", "closs"})
    EXPECT_EQ(largerIsBetter(name), std::nullopt) << name;
}

TEST(EarlyStop, WantsADirection) {
  EarlyStopOptions options;
  options.monitor = "top2";
  options.larger = largerIsBetter(options.monitor);
  EarlyStop stop(options);
  Logs logs = {{"loss", 0.1}, {"top2", 0.5}};
  mpc::data::Status status = stop.begin(logs);
  ASSERT_FALSE(status);
  EXPECT_NE(status.failure().messages.at(0).find("say mode=max or mode=min"), std::string::npos);
}

TEST(TerminateOnNaN, StopsOnlyForNonFiniteLosses) {
  TerminateOnNaN callback;
  EXPECT_EQ(callback.stepEnd({0, 1, 1.0f, false}), "");
  EXPECT_NE(callback.stepEnd({0, 1, NAN, true}), "");
  EXPECT_NE(callback.stepEnd({0, 1, INFINITY, true}), "");
}
