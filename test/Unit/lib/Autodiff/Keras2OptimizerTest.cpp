// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Optimizers of Keras 2 that compute otherwise, against scalar references after tf_keras's
// optimizers (2.11 to 2.16), its optimizers.legacy (OptimizerV2 and TensorFlow's kernels) and Keras
// 2.2's.
#include "test/Unit/lib/Autodiff/TrainingLoop.h"
#include <array>
#include <cmath>
#include <functional>
#include <gtest/gtest.h>

using namespace mpc::test;

namespace {

std::string optimizer(const std::string &rule, const std::string &more = "") {
  return "mpc.optimizer \"o\" rule(" + rule + ") {learning_rate = 0.0625 : f64" +
         (more.empty() ? "" : ", " + more) + "}";
}

const double kRate = 0.0625;
const std::string kSGD = "#mpc.sgd<momentum = 0.0 : f64, nesterov = false>",
                  kMomentum = "#mpc.sgd<momentum = 0.5 : f64, nesterov = false>",
                  kAdam = "#mpc.adam<beta_1 = 0.9 : f64, beta_2 = 0.999 : f64, epsilon = 1.0e-3 : "
                          "f64, amsgrad = false>",
                  kNadam = "beta_1 = 0.9 : f64, beta_2 = 0.999 : f64, epsilon = 1.0e-7 : f64";

TEST(Keras2Optimizer, AdagradAddsEpsilonToTheRoot) {
  TrainingLoop loop(optimizer("#mpc.adagrad<initial_accumulator_value = 0.25 : f64, epsilon = 0.5 "
                              ": f64, epsilon_beside_root = true>"),
                    {1});
  ASSERT_TRUE(loop.valid());
  double w = 1, a = 0.25;
  for (double g : {0.5, -1.0, 2.0}) {
    a += g * g;
    w -= kRate * g / (std::sqrt(a) + 0.5);
    ASSERT_TRUE(loop.step({g}));
    EXPECT_NEAR(loop.variable("w")[0], w, 1e-6);
  }
}

TEST(Keras2Optimizer, RMSpropAddsEpsilonToTheRoot) {
  TrainingLoop loop(optimizer("#mpc.rmsprop<rho = 0.9 : f64, momentum = 0.0 : f64, epsilon = 0.5 : "
                              "f64, centered = true, epsilon_beside_root = true>"),
                    {1});
  ASSERT_TRUE(loop.valid());
  double w = 1, v = 0, mean = 0;
  for (double g : {0.5, -1.0, 2.0}) {
    v = 0.9 * v + 0.1 * g * g;
    mean = 0.9 * mean + 0.1 * g;
    w -= kRate * g / (std::sqrt(v - mean * mean) + 0.5);
    ASSERT_TRUE(loop.step({g}));
    EXPECT_NEAR(loop.variable("w")[0], w, 1e-6);
  }
}

/// beta_1 * (1 - 0.96^(decay * t) / 2).
double coefficient(double t, double decay = 1) {
  return 0.9 * (1 - 0.5 * std::pow(0.96, decay * t));
}

/// Nadam's step of one element, whose product so far is `product`.
void stepNadam(double &w, std::array<double, 2> &s, double g, double t, double product,
               double decay = 1) {
  s[0] += (g - s[0]) * 0.1;
  s[1] += (g * g - s[1]) * 0.001;
  double now = coefficient(t, decay), next = coefficient(t + 1, decay);
  double m = next * s[0] / (1 - product * next) + (1 - now) * g / (1 - product);
  w -= m * kRate / (std::sqrt(s[1] / (1 - std::pow(0.999, t))) + 1e-7);
}

TEST(Keras2Optimizer, NadamHasAScheduleDecay) {
  TrainingLoop loop(optimizer("#mpc.nadam<" + kNadam + ", schedule_decay = 0.25 : f64>"), {1});
  ASSERT_TRUE(loop.valid());
  double w = 1, product = 1;
  std::array<double, 2> slots{0, 0};
  for (int t = 1; t <= 4; ++t) {
    product *= coefficient(t, 0.25);
    stepNadam(w, slots, 0.5 * t, t, product, 0.25);
    ASSERT_TRUE(loop.step({0.5 * t}));
    EXPECT_NEAR(loop.variable("w")[0], w, 2e-5);
  }
}

/// Two variables: every update multiplies the product once more, but that of the variable at place
/// t - 2.
TEST(Keras2Optimizer, NadamsProductGrowsWithEachVariable) {
  TrainingLoop loop(optimizer("#mpc.nadam<" + kNadam + ", product_per_variable = true>"),
                    TrainingLoop::Table{{1, 1}});
  ASSERT_TRUE(loop.valid());
  double product = 1, w[] = {1, 0};
  std::array<double, 2> slots[2]{};
  for (int t = 1; t <= 5; ++t) {
    for (int k : {0, 1}) {
      if (t - 2 != k)
        product *= coefficient(t);
      stepNadam(w[k], slots[k], 0.5, t, product);
    }
    ASSERT_TRUE(loop.stepWith({{"x", {0.5}}, {"ids", {0}}}));
    EXPECT_NEAR(loop.variable("w")[0], w[0], 2e-5) << t;
    EXPECT_NEAR(loop.variable("b")[0], w[1], 2e-5) << t;
    EXPECT_NEAR(loop.variable("optimizer/variable")[0], product, 1e-6);
  }
}

TEST(Keras2Optimizer, DecayDividesTheRate) {
  TrainingLoop loop(optimizer(kSGD, "decay = 0.5 : f64"), {1});
  ASSERT_TRUE(loop.valid());
  double w = 1;
  for (int t = 0; t < 4; ++t) {
    w -= kRate / (1 + 0.5 * t);
    ASSERT_TRUE(loop.step({1}));
    EXPECT_NEAR(loop.variable("w")[0], w, 1e-6);
    EXPECT_NEAR(loop.output("learning_rate"), kRate / (1 + 0.5 * t), 1e-7);
  }
}

TEST(Keras2Optimizer, DecayDividesAScheduleToo) {
  TrainingLoop loop(optimizer(kSGD, "decay = 0.5 : f64, schedule = {class_name = "
                                    "\"InverseTimeDecay\", initial_learning_rate = 0.5 : f64, "
                                    "decay_steps = 1 : i64, decay_rate = 1.0 : f64}"),
                    {1});
  ASSERT_TRUE(loop.valid() && loop.step({1}) && loop.step({1}));
  EXPECT_NEAR(loop.output("learning_rate"), 0.5 / 2 / 1.5, 1e-7);
}

TEST(Keras2Optimizer, AveragesStartFromTheVariable) {
  TrainingLoop loop(optimizer(kSGD, "ema_momentum = 0.75 : f64, average_from_variable"), {1});
  ASSERT_TRUE(loop.valid());
  double w = 1, average = 1;
  for (int t = 0; t < 3; ++t) {
    w -= kRate;
    average = 0.75 * average + 0.25 * w;
    ASSERT_TRUE(loop.step({1}));
    EXPECT_NEAR(loop.variable("optimizer/o/w_average")[0], average, 1e-6);
  }
}

TEST(Keras2Optimizer, ClipsValuesThenTheNorm) {
  TrainingLoop loop(optimizer(kSGD, "clipvalue = 3.0 : f64, clipnorm = 1.0 : f64"), {0, 0});
  ASSERT_TRUE(loop.valid() && loop.step({4, 100}));
  EXPECT_NEAR(loop.variable("w")[0], -kRate * std::sqrt(0.5), 1e-6);
  EXPECT_NEAR(loop.variable("w")[1], -kRate * std::sqrt(0.5), 1e-6);
}

/// A table of three rows, of which the first is taken twice and the last not at all.
struct Rows {
  explicit Rows(const std::string &rule, const std::string &rows)
      : loop(optimizer(rule, "rows = #mpc<row_gradients " + rows + ">"),
             TrainingLoop::Table{{1, 2, 3}}) {}
  bool step(std::vector<double> ids, std::vector<double> x) {
    return loop.stepWith({{"ids", std::move(ids)}, {"x", std::move(x)}});
  }
  std::vector<double> w() const { return loop.variable("w"); }
  TrainingLoop loop;
};

/// Adam's first step for a gradient and the square that it accumulates.
double stepAdam(double g, double square) {
  double alpha = kRate * std::sqrt(1 - 0.999) / (1 - 0.9);
  return alpha * 0.1 * g / (std::sqrt(0.001 * square) + 1e-3);
}

TEST(Keras2Optimizer, RowsOfOnePlaceAreAddedBeforeTheyAreSquared) {
  for (const char *rows : {"summed", "touched", "dense"}) {
    Rows table(kAdam, rows);
    ASSERT_TRUE(table.loop.valid() && table.step({0, 1, 0}, {0.5, 2, 1})) << rows;
    EXPECT_NEAR(table.w()[0], 1 - stepAdam(1.5, 2.25), 1e-6) << rows;
    EXPECT_NEAR(table.w()[1], 2 - stepAdam(2, 4), 1e-6) << rows;
    EXPECT_EQ(table.w()[2], 3) << rows;
  }
  Rows today(kAdam, "each");
  ASSERT_TRUE(today.loop.valid() && today.step({0, 1, 0}, {0.5, 2, 1}));
  EXPECT_NEAR(today.w()[0], 1 - stepAdam(1.5, 1.25), 1e-6);
}

TEST(Keras2Optimizer, AdamMovesRowsThatNothingTouches) {
  for (const char *rows : {"summed", "touched"}) {
    Rows table(kAdam, rows);
    ASSERT_TRUE(table.loop.valid() && table.step({0, 1, 2}, {1, 1, 1}));
    double before = table.w()[2];
    ASSERT_TRUE(table.step({0, 1, 0}, {1, 1, 1}));
    EXPECT_LT(table.w()[2], before) << rows;
  }
}

TEST(Keras2Optimizer, MomentumRestsInRowsThatNothingTouches) {
  Rows old(kMomentum, "touched"), later(kMomentum, "summed");
  for (Rows *table : {&old, &later})
    ASSERT_TRUE(table->loop.valid() && table->step({0, 1, 2}, {1, 1, 1}) &&
                table->step({0, 1, 0}, {1, 1, 1}));
  EXPECT_NEAR(old.w()[2], 3 - kRate, 1e-6);
  EXPECT_NEAR(old.loop.variable("optimizer/o/w_momentum")[2], -kRate, 1e-6);
  EXPECT_NEAR(later.w()[2], 3 - kRate * 1.5, 1e-6);
  EXPECT_NEAR(later.loop.variable("optimizer/o/w_momentum")[2], -kRate / 2, 1e-6);
  for (Rows *table : {&old, &later})
    EXPECT_NEAR(table->w()[0], 1 - kRate - kRate * 2.5, 1e-6);
}

TEST(Keras2Optimizer, NadamKeepsTheVariableAndDecaysItsSlots) {
  Rows table("#mpc.nadam<" + kNadam + ", schedule_decay = 0.004 : f64>", "touched");
  ASSERT_TRUE(table.loop.valid() && table.step({0, 1, 2}, {1, 1, 1}));
  double before = table.w()[2], m = table.loop.variable("optimizer/o/w_momentum")[2];
  ASSERT_TRUE(table.step({0, 1, 0}, {1, 1, 1}));
  EXPECT_EQ(table.w()[2], before);
  EXPECT_NEAR(table.loop.variable("optimizer/o/w_momentum")[2], 0.9 * m, 1e-6);
}

struct KeptRule {
  const char *name, *attribute;
  bool keeps;
};

void PrintTo(const KeptRule &rule, std::ostream *os) { *os << rule.name; }

/// Which rules leave a row and its slots alone.
class KeptRowsOf : public testing::TestWithParam<KeptRule> {};

TEST_P(KeptRowsOf, Follow) {
  Rows table(GetParam().attribute, "touched");
  ASSERT_TRUE(table.loop.valid() && table.step({0, 1, 2}, {1, 1, 1}));
  auto slots = [&] {
    std::vector<double> values{table.w()[2]};
    for (const std::string &name : table.loop.optimizerVariables())
      if (name.find("/w_") != std::string::npos)
        values.push_back(table.loop.variable(name)[2]);
    return values;
  };
  std::vector<double> before = slots();
  ASSERT_TRUE(table.step({0, 1, 0}, {1, 1, 1}));
  EXPECT_EQ(slots() == before, GetParam().keeps);
}

INSTANTIATE_TEST_SUITE_P(
    Rules, KeptRowsOf,
    testing::ValuesIn(std::vector<KeptRule>{
        {"sgd", "#mpc.sgd<momentum = 0.5 : f64, nesterov = true>", true},
        {"adadelta", "#mpc.adadelta<rho = 0.95 : f64, epsilon = 1.0e-3 : f64>", true},
        {"adamax", "#mpc.adamax<beta_1 = 0.9 : f64, beta_2 = 0.999 : f64, epsilon = 1.0e-7 : f64>",
         true},
        {"ftrl",
         "#mpc.ftrl<learning_rate_power = -0.5 : f64, initial_accumulator_value = 0.25 : f64, l1 "
         "= 0.0 : f64, l2 = 0.0 : f64, l2_shrinkage = 0.0 : f64, beta = 0.0 : f64>",
         true},
        {"rmsprop_momentum",
         "#mpc.rmsprop<rho = 0.9 : f64, momentum = 0.5 : f64, epsilon = 1.0e-7 : f64, centered = "
         "false>",
         true},
        {"rmsprop",
         "#mpc.rmsprop<rho = 0.9 : f64, momentum = 0.0 : f64, epsilon = 1.0e-7 : f64, centered = "
         "false>",
         false},
        {"adam",
         "#mpc.adam<beta_1 = 0.9 : f64, beta_2 = 0.999 : f64, epsilon = 1.0e-7 : f64, amsgrad = "
         "false>",
         false}}),
    [](const testing::TestParamInfo<KeptRule> &info) { return std::string(info.param.name); });

/// A row without a gradient would lose what it starts from: w follows from the slots alone.
TEST(Keras2Optimizer, FtrlKeepsRowsFromTheirStart) {
  const std::string ftrl =
      "#mpc.ftrl<learning_rate_power = -0.5 : f64, initial_accumulator_value = 0.25 : f64, l1 = "
      "0.0 : f64, l2 = 0.0 : f64, l2_shrinkage = 0.0 : f64, beta = 0.0 : f64>";
  Rows old(ftrl, "touched"), later(ftrl, "summed");
  ASSERT_TRUE(old.loop.valid() && old.step({0}, {1}) && later.loop.valid() && later.step({0}, {1}));
  EXPECT_EQ(old.w()[2], 3);
  EXPECT_EQ(later.w()[2], 0);
}

/// The step is skipped as one, rows or not.
TEST(Keras2Optimizer, ASkippedStepKeepsEveryRow) {
  TrainingLoop loop(optimizer(kMomentum, "rows = #mpc<row_gradients touched>") +
                        "\nmpc.loss_scale initial(8.0) {growth_steps = 2 : i64}",
                    TrainingLoop::Table{{1, 2, 3}});
  ASSERT_TRUE(loop.valid() && loop.stepWith({{"ids", {0, 1}}, {"x", {INFINITY, 1}}}));
  EXPECT_EQ(loop.variable("w"), (std::vector<double>{1, 2, 3}));
  ASSERT_TRUE(loop.stepWith({{"ids", {0, 1}}, {"x", {1, 1}}}));
  EXPECT_NEAR(loop.variable("w")[1], 2 - kRate, 1e-6);
  EXPECT_EQ(loop.variable("w")[2], 3);
}

} // namespace
