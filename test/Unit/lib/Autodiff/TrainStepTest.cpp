// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// @train_step against scalar references and the numbers of Keras's own optimizer tests
// (keras/src/optimizers/optimizer_test.py).
#include "test/Unit/lib/Autodiff/TrainingLoop.h"
#include <cmath>
#include <functional>
#include <gtest/gtest.h>
#include <random>

using namespace mpc::test;

namespace {

const std::string kSGD = "#mpc.sgd<momentum = 0.0 : f64, nesterov = false>";

std::string optimizer(const std::string &rule, double rate, const std::string &more = "") {
  return "mpc.optimizer \"o\" rule(" + rule + ") {learning_rate = " + std::to_string(rate) +
         " : f64" + (more.empty() ? "" : ", " + more) + "}";
}

/// One element of a variable; `t` is 1 in the first step.
struct Rule {
  const char *name, *attribute;
  std::function<void(double &v, double *slots, double g, double lr, double t)> update;
  std::array<double, 3> initial = {0, 0, 0};
};

const double kDecay1 = 0.9, kDecay2 = 0.999;

/// Adam's averages of the gradient and of its square.
void average(double *s, double g) {
  s[0] += (g - s[0]) * (1 - kDecay1);
  s[1] += (g * g - s[1]) * (1 - kDecay2);
}

double nadamCoefficient(double t) { return kDecay1 * (1 - 0.5 * std::pow(0.96, t)); }

void PrintTo(const Rule &rule, std::ostream *os) { *os << rule.name; }

const Rule kRules[] = {
    {"sgd", "#mpc.sgd<momentum = 0.0 : f64, nesterov = false>",
     [](double &v, double *, double g, double lr, double) { v -= lr * g; }},
    {"sgd_momentum", "#mpc.sgd<momentum = 0.9 : f64, nesterov = false>",
     [](double &v, double *s, double g, double lr, double) {
       s[0] = 0.9 * s[0] - lr * g;
       v += s[0];
     }},
    {"sgd_nesterov", "#mpc.sgd<momentum = 0.9 : f64, nesterov = true>",
     [](double &v, double *s, double g, double lr, double) {
       s[0] = 0.9 * s[0] - lr * g;
       v += 0.9 * s[0] - lr * g;
     }},
    {"rmsprop",
     "#mpc.rmsprop<rho = 0.9 : f64, momentum = 0.0 : f64, epsilon = 1.0e-7 : f64, centered = "
     "false>",
     [](double &v, double *s, double g, double lr, double) {
       s[0] = 0.9 * s[0] + 0.1 * g * g;
       v -= lr * g / std::sqrt(s[0] + 1e-7);
     }},
    {"rmsprop_centered_momentum",
     "#mpc.rmsprop<rho = 0.9 : f64, momentum = 0.8 : f64, epsilon = 1.0e-3 : f64, centered = true>",
     [](double &v, double *s, double g, double lr, double) {
       s[0] = 0.9 * s[0] + 0.1 * g * g;
       s[2] = 0.9 * s[2] + 0.1 * g;
       s[1] = 0.8 * s[1] + lr * g / std::sqrt(s[0] - s[2] * s[2] + 1e-3);
       v -= s[1];
     }},
    {"adam",
     "#mpc.adam<beta_1 = 0.9 : f64, beta_2 = 0.999 : f64, epsilon = 1.0e-7 : f64, amsgrad = false>",
     [](double &v, double *s, double g, double lr, double t) {
       s[0] += (g - s[0]) * (1 - 0.9);
       s[1] += (g * g - s[1]) * (1 - 0.999);
       v -= s[0] * lr * std::sqrt(1 - std::pow(0.999, t)) / (1 - std::pow(0.9, t)) /
            (std::sqrt(s[1]) + 1e-7);
     }},
    {"adam_amsgrad",
     "#mpc.adam<beta_1 = 0.9 : f64, beta_2 = 0.999 : f64, epsilon = 1.0e-7 : f64, amsgrad = true>",
     [](double &v, double *s, double g, double lr, double t) {
       s[0] += (g - s[0]) * (1 - 0.9);
       s[1] += (g * g - s[1]) * (1 - 0.999);
       s[2] = std::max(s[2], s[1]);
       v -= s[0] * lr * std::sqrt(1 - std::pow(0.999, t)) / (1 - std::pow(0.9, t)) /
            (std::sqrt(s[2]) + 1e-7);
     }},
    {"adam_rate_scale",
     "#mpc.adam<beta_1 = 0.9 : f64, beta_2 = 0.999 : f64, epsilon = 1.0e-7 : f64, amsgrad = "
     "false, rate_scale = 0.5 : f64>",
     [](double &v, double *s, double g, double lr, double t) {
       average(s, g);
       v -= s[0] * 0.5 * lr * std::sqrt(1 - std::pow(0.999, t)) / (1 - std::pow(0.9, t)) /
            (std::sqrt(s[1]) + 1e-7);
     }},
    {"adagrad",
     "#mpc.adagrad<initial_accumulator_value = 0.25 : f64, epsilon = 1.0e-7 : f64>",
     [](double &v, double *s, double g, double lr, double) {
       s[0] += g * g;
       v -= lr * g / std::sqrt(s[0] + 1e-7);
     },
     {0.25, 0, 0}},
    {"adadelta", "#mpc.adadelta<rho = 0.95 : f64, epsilon = 1.0e-3 : f64>",
     [](double &v, double *s, double g, double lr, double) {
       s[0] = 0.95 * s[0] + 0.05 * g * g;
       double d = -std::sqrt(s[1] + 1e-3) / std::sqrt(s[0] + 1e-3) * g;
       s[1] = 0.95 * s[1] + 0.05 * d * d;
       v += lr * d;
     }},
    {"adamax", "#mpc.adamax<beta_1 = 0.9 : f64, beta_2 = 0.999 : f64, epsilon = 1.0e-7 : f64>",
     [](double &v, double *s, double g, double lr, double t) {
       s[0] += (g - s[0]) * (1 - 0.9);
       s[1] = std::max(0.999 * s[1], std::fabs(g));
       v -= lr * s[0] / ((1 - std::pow(0.9, t)) * (s[1] + 1e-7));
     }},
    {"nadam", "#mpc.nadam<beta_1 = 0.9 : f64, beta_2 = 0.999 : f64, epsilon = 1.0e-7 : f64>",
     [](double &v, double *s, double g, double lr, double t) {
       average(s, g);
       double product = 1, next = nadamCoefficient(t + 1);
       for (int i = 1; i <= t; ++i)
         product *= nadamCoefficient(i);
       double m =
           next * s[0] / (1 - product * next) + (1 - nadamCoefficient(t)) * g / (1 - product);
       v -= m * lr / (std::sqrt(s[1] / (1 - std::pow(0.999, t))) + 1e-7);
     }},
    {"ftrl",
     "#mpc.ftrl<learning_rate_power = -0.5 : f64, initial_accumulator_value = 0.25 : f64, l1 = "
     "0.125 : f64, l2 = 0.25 : f64, l2_shrinkage = 0.5 : f64, beta = 0.125 : f64>",
     [](double &v, double *s, double g, double lr, double) {
       double grown = s[0] + g * g;
       s[1] += g + 2 * 0.5 * v - (std::sqrt(grown) - std::sqrt(s[0])) / lr * v;
       s[0] = grown;
       double clipped = std::min(std::max(s[1], -0.125), 0.125);
       v = (clipped - s[1]) / (std::sqrt(grown) / lr + 2 * (0.25 + 0.125 / (2 * lr)));
     },
     {0.25, 0, 0}},
    {"schedule_free_adamw",
     "#mpc.schedule_free_adamw<beta_1 = 0.75 : f64, beta_2 = 0.999 : f64, epsilon = 1.0e-3 : f64, "
     "warmup_steps = 3.0 : f64>",
     [](double &v, double *s, double g, double lr, double t) {
       double z = t == 1 ? v : s[0];
       s[1] += (g * g - s[1]) * (1 - kDecay2);
       s[0] = z -
              std::min(t / 3, 1.0) * lr * g / (std::sqrt(s[1] / (1 - std::pow(kDecay2, t))) + 1e-3);
       double x = (v - 0.25 * z) / 0.75;
       x += (s[0] - x) / t;
       v = 0.25 * s[0] + 0.75 * x;
     }},
    {"lion", "#mpc.lion<beta_1 = 0.9 : f64, beta_2 = 0.99 : f64>",
     [](double &v, double *s, double g, double lr, double) {
       double direction = 0.9 * s[0] + 0.1 * g;
       v -= lr * ((direction > 0) - (direction < 0));
       s[0] = 0.99 * s[0] + 0.01 * g;
     }},
};

class OptimizerRule : public testing::TestWithParam<Rule> {};

TEST_P(OptimizerRule, EqualsScalarReference) {
  std::mt19937 random(7);
  std::normal_distribution<double> normal;
  std::vector<double> values{1, -2, 0.5};
  TrainingLoop loop(optimizer(GetParam().attribute, 0.0625), values);
  ASSERT_TRUE(loop.valid());
  std::vector<std::array<double, 3>> slots(3, GetParam().initial);
  for (int t = 1; t <= 6; ++t) {
    std::vector<double> gradient;
    for (size_t i = 0; i < values.size(); ++i) {
      gradient.push_back(float(normal(random)));
      GetParam().update(values[i], slots[i].data(), gradient[i], 0.0625, t);
    }
    ASSERT_TRUE(loop.step(gradient));
    for (size_t i = 0; i < values.size(); ++i)
      // float32 arithmetic; 1 - beta_2^t loses about 2^-24 / 1e-3.
      EXPECT_NEAR(loop.variable("w")[i], values[i], 2e-5 * std::fabs(values[i]) + 2e-5)
          << "step " << t;
  }
  EXPECT_EQ(loop.variable("optimizer/o/iteration"), std::vector<double>{6});
}

INSTANTIATE_TEST_SUITE_P(Rules, OptimizerRule, testing::ValuesIn(kRules),
                         [](const testing::TestParamInfo<Rule> &info) {
                           return std::string(info.param.name);
                         });

double norm(const std::vector<double> &values) {
  double sum = 0;
  for (double value : values)
    sum += value * value;
  return std::sqrt(sum);
}

/// LAMB: Adam's direction with bias correction, as long as the variable is.
TEST(TrainStep, LambScalesToTheNormOfTheVariable) {
  std::vector<double> values{1, -2, 0.5}, gradient{0.5, 0.25, -1};
  TrainingLoop loop(
      optimizer("#mpc.lamb<beta_1 = 0.9 : f64, beta_2 = 0.999 : f64, epsilon = 1.0e-7 : f64>",
                0.0625),
      values);
  ASSERT_TRUE(loop.valid());
  std::vector<std::array<double, 2>> slots(3, {0, 0});
  for (int t = 1; t <= 4; ++t) {
    std::vector<double> update(3);
    for (size_t i = 0; i < 3; ++i) {
      average(slots[i].data(), gradient[i]);
      update[i] = slots[i][0] / (1 - std::pow(kDecay1, t)) /
                  (std::sqrt(slots[i][1] / (1 - std::pow(kDecay2, t))) + 1e-7);
    }
    double ratio = norm(values) / norm(update);
    for (size_t i = 0; i < 3; ++i)
      values[i] -= ratio * 0.0625 * update[i];
    ASSERT_TRUE(loop.step(gradient));
    for (size_t i = 0; i < 3; ++i)
      EXPECT_NEAR(loop.variable("w")[i], values[i], 2e-5) << "step " << t;
  }
}

TEST(TrainStep, AdafactorBoundsTheUpdateOfAVector) {
  std::vector<double> values{1, -2, 0.5}, gradient{0.5, 0.25, -1}, v(3, 0.0);
  TrainingLoop loop(optimizer("#mpc.adafactor<beta_2_decay = -0.8 : f64, epsilon_1 = 1.0e-30 : "
                              "f64, epsilon_2 = 1.0e-3 : f64, clip_threshold = 1.0 : f64>",
                              0.0625),
                    values);
  ASSERT_TRUE(loop.valid());
  for (int t = 1; t <= 4; ++t) {
    double alpha = std::max(1e-3, norm(values) / std::sqrt(3)) * std::min(0.0625, 1 / std::sqrt(t));
    double decay = 1 - std::pow(t, -0.8);
    std::vector<double> update(3);
    for (size_t i = 0; i < 3; ++i) {
      v[i] = decay * v[i] + (1 - decay) * gradient[i] * gradient[i];
      update[i] = gradient[i] / std::sqrt(v[i]);
    }
    double excess = std::max(1.0, norm(update) / std::sqrt(3));
    for (size_t i = 0; i < 3; ++i)
      values[i] -= alpha * update[i] / excess;
    ASSERT_TRUE(loop.step(gradient));
    for (size_t i = 0; i < 3; ++i)
      EXPECT_NEAR(loop.variable("w")[i], values[i], 2e-5) << "step " << t;
  }
}

TEST(TrainStep, NadamKeepsOneProductBehindTheSlots) {
  TrainingLoop loop(
      optimizer("#mpc.nadam<beta_1 = 0.9 : f64, beta_2 = 0.999 : f64, epsilon = 1.0e-7 : f64>", 1,
                "accumulation_steps = 2 : i64"),
      {1});
  ASSERT_TRUE(loop.valid());
  EXPECT_EQ(loop.optimizerVariables().back(), "optimizer/variable");
  ASSERT_TRUE(loop.step({1}));
  EXPECT_EQ(loop.variable("optimizer/variable"), std::vector<double>{1}); // only accumulated
  ASSERT_TRUE(loop.step({1}));
  EXPECT_NEAR(loop.variable("optimizer/variable")[0], nadamCoefficient(1), 1e-7);
}

TEST(TrainStep, DecaysNothingThatIsExcluded) {
  TrainingLoop decayed(optimizer(kSGD, 0.5, "weight_decay = 0.5 : f64"), {2});
  ASSERT_TRUE(decayed.valid() && decayed.step({0}));
  EXPECT_EQ(decayed.variable("w"), std::vector<double>{1.5});
  TrainingLoop excluded(optimizer(kSGD, 0.5, "undecayed = [@w], weight_decay = 0.5 : f64"), {2});
  ASSERT_TRUE(excluded.valid() && excluded.step({0}));
  EXPECT_EQ(excluded.variable("w"), std::vector<double>{2});
}

TEST(TrainStep, MuonSendsVectorsToAdam) {
  TrainingLoop loop(
      optimizer("#mpc.muon<momentum = 0.95 : f64, nesterov = true, ns_steps = 5, a = 3.4445 : f64, "
                "b = -4.775 : f64, c = 2.0315 : f64, adam = <beta_1 = 0.9 : f64, beta_2 = 0.999 : "
                "f64, epsilon = 1.0e-7 : f64, amsgrad = false>, adam_weight_decay = 0.5 : f64>",
                0.5),
      {2});
  ASSERT_TRUE(loop.valid() && loop.step({0}));
  EXPECT_EQ(loop.optimizerVariables().back(), "optimizer/o/w_velocity");
  EXPECT_EQ(loop.variable("w"), std::vector<double>{1.5}); // Adam's decay alone
}

TEST(TrainStep, ClipsByNorm) {
  TrainingLoop loop(optimizer(kSGD, 1, "clipnorm = 1.0 : f64"), {0, 0});
  ASSERT_TRUE(loop.valid() && loop.step({100, 100}));
  EXPECT_NEAR(loop.variable("w")[0], -std::sqrt(0.5), 1e-7);
  EXPECT_NEAR(loop.variable("w")[1], -std::sqrt(0.5), 1e-7);
}

TEST(TrainStep, ClipsByValue) {
  TrainingLoop loop(optimizer(kSGD, 1, "clipvalue = 1.0 : f64"), {0, 0});
  ASSERT_TRUE(loop.valid() && loop.step({100, -100}));
  EXPECT_EQ(loop.variable("w"), (std::vector<double>{-1, 1}));
}

TEST(TrainStep, ClipsByGlobalNorm) {
  TrainingLoop loop(optimizer(kSGD, 1, "global_clipnorm = 1.0 : f64"), {0, 0});
  ASSERT_TRUE(loop.valid() && loop.step({50, 100}));
  EXPECT_NEAR(loop.variable("w")[0], -50 / std::sqrt(12500), 1e-7);
  EXPECT_NEAR(loop.variable("w")[1], -100 / std::sqrt(12500), 1e-7);
  ASSERT_TRUE(loop.step({INFINITY, 1}));
  EXPECT_TRUE(std::isnan(loop.variable("w")[1])); // a norm that is not finite spoils every gradient
}

TEST(TrainStep, ANonPositiveLimitClipsNothing) {
  TrainingLoop loop(optimizer(kSGD, 1, "clipvalue = 0.0 : f64"), {0});
  ASSERT_TRUE(loop.valid() && loop.step({100}));
  EXPECT_EQ(loop.variable("w")[0], -100);
}

TEST(TrainStep, AveragesAndOverwrites) {
  TrainingLoop loop(
      optimizer(kSGD, 1, "ema_momentum = 0.9 : f64, ema_overwrite_frequency = 3 : i64"),
      {3, 4, 5, 6});
  ASSERT_TRUE(loop.valid());
  const double values[] = {2, 1, 1.71}, averages[] = {2, 1.9, 1.71};
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(loop.step({1, 1, 1, 1}));
    EXPECT_NEAR(loop.variable("w")[0], values[i], 1e-6);
    EXPECT_NEAR(loop.variable("optimizer/o/w_average")[0], averages[i], 1e-6);
  }
}

TEST(TrainStep, AccumulatesGradients) {
  TrainingLoop loop(optimizer(kSGD, 1, "accumulation_steps = 3 : i64, weight_decay = 0.0 : f64"),
                    {1, 2});
  ASSERT_TRUE(loop.valid());
  const double sums[] = {1, 2, 0}, values[] = {1, 1, 0};
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(loop.step({1, 1}));
    EXPECT_EQ(loop.variable("optimizer/o/w_gradient_accumulator")[0], sums[i]);
    EXPECT_EQ(loop.variable("w")[0], values[i]);
    EXPECT_EQ(loop.variable("optimizer/o/iteration")[0], i + 1);
  }
}

TEST(TrainStep, DecaysWeightsOnUpdatesOnly) {
  TrainingLoop loop(optimizer(kSGD, 0.5, "accumulation_steps = 2 : i64, weight_decay = 0.25 : f64"),
                    {8});
  ASSERT_TRUE(loop.valid() && loop.step({2}));
  EXPECT_EQ(loop.variable("w")[0], 8);
  ASSERT_TRUE(loop.step({4}));
  EXPECT_EQ(loop.variable("w")[0], 8 - 8 * 0.25 * 0.5 - 0.5 * 3);
}

TEST(TrainStep, UndoesTheStaticScale) {
  TrainingLoop loop(optimizer(kSGD, 1, "static_scale = 1024.0 : f64, clipvalue = 2.0 : f64"),
                    {0, 0});
  ASSERT_TRUE(loop.valid() && loop.step({1, 3}));
  EXPECT_EQ(loop.variable("w"), (std::vector<double>{-1, -2}));
}

struct ConstraintCase {
  const char *name, *attribute;
  std::function<double(double w, double norm)> project;
};

void PrintTo(const ConstraintCase &constraint, std::ostream *os) { *os << constraint.name; }

const ConstraintCase kConstraints[] = {
    {"max_norm_above", "#mpc.constraint<max_norm axes = [0] max = 1.5 : f64>",
     [](double w, double norm) { return w * 1.5 / (norm + 1e-7); }},
    {"max_norm_below", "#mpc.constraint<max_norm axes = [0] max = 10.0 : f64>",
     [](double w, double norm) { return w * norm / (norm + 1e-7); }},
    {"unit_norm", "#mpc.constraint<unit_norm axes = [0]>",
     [](double w, double norm) { return w / (norm + 1e-7); }},
    {"non_negative", "#mpc.constraint<non_negative>",
     [](double w, double) { return w > 0 ? w : 0; }},
    {"min_max_norm",
     "#mpc.constraint<min_max_norm axes = [0] min = 3.0 : f64 max = 5.0 : f64 rate = 0.25 : f64>",
     [](double w, double norm) { return w * (0.25 * 3 + 0.75 * norm) / (norm + 1e-7); }},
};

class WeightConstraint : public testing::TestWithParam<ConstraintCase> {};

TEST_P(WeightConstraint, ProjectsWhatTheOptimizerWrote) {
  TrainingLoop loop(optimizer(kSGD, 1), {3, -4},
                    std::string("constraint = ") + GetParam().attribute);
  ASSERT_TRUE(loop.valid());
  ASSERT_TRUE(loop.step({1, -2})); // w = (2, -2)
  EXPECT_NEAR(loop.variable("w")[0], GetParam().project(2, std::sqrt(8)), 1e-6);
  EXPECT_NEAR(loop.variable("w")[1], GetParam().project(-2, std::sqrt(8)), 1e-6);
  ASSERT_TRUE(loop.step({std::nan(""), 0}));
  EXPECT_TRUE(std::isnan(loop.variable("w")[0]));
}

TEST_P(WeightConstraint, KeepsTheValueOfASkippedStep) {
  TrainingLoop loop(optimizer(kSGD, 1) + "\nmpc.loss_scale initial(8.0) {growth_steps = 2 : i64}",
                    {3, -4}, std::string("constraint = ") + GetParam().attribute);
  ASSERT_TRUE(loop.valid());
  ASSERT_TRUE(loop.step({INFINITY, 0}));
  EXPECT_EQ(loop.variable("w"), (std::vector<double>{3, -4}));
}

INSTANTIATE_TEST_SUITE_P(TrainStep, WeightConstraint, testing::ValuesIn(kConstraints));

TEST(TrainStep, DeclaresVariablesInKerasOrder) {
  TrainingLoop loop(optimizer("#mpc.adam<beta_1 = 0.9 : f64, beta_2 = 0.999 : f64, epsilon = "
                              "1.0e-7 : f64, amsgrad = true>",
                              1, "ema_momentum = 0.9 : f64, accumulation_steps = 4 : i64") +
                        "\nmpc.variable @\"b/c\" : tensor<f32> role trainable\nmpc.loss_scale "
                        "initial(8.0) {growth_steps = 2 : i64}",
                    {1});
  ASSERT_TRUE(loop.valid());
  std::vector<std::string> expected;
  for (const char *name :
       {"loss_scale_optimizer/iteration", "loss_scale_optimizer/learning_rate",
        "loss_scale_optimizer/step_counter", "loss_scale_optimizer/dynamic_scale", "o/iteration",
        "o/learning_rate", "o/w_average", "o/b_c_average", "o/w_gradient_accumulator",
        "o/b_c_gradient_accumulator", "o/w_momentum", "o/w_velocity", "o/b_c_momentum",
        "o/b_c_velocity", "o/w_velocity_hat", "o/b_c_velocity_hat"})
    expected.push_back(std::string("optimizer/") + name);
  EXPECT_EQ(loop.optimizerVariables(), expected);
}

struct Schedule {
  const char *name, *config;
  std::function<double(double)> rate;
};

void PrintTo(const Schedule &schedule, std::ostream *os) { *os << schedule.name; }

double cosine(double fraction) { return 0.5 * (1 + std::cos(M_PI * fraction)); }

const Schedule kSchedules[] = {
    {"exponential",
     "class_name = \"ExponentialDecay\", initial_learning_rate = 0.2 : f64, decay_steps = 4 : i64, "
     "decay_rate = 0.7 : f64, staircase = false",
     [](double t) { return 0.2 * std::pow(0.7, t / 4); }},
    {"exponential_staircase",
     "class_name = \"ExponentialDecay\", initial_learning_rate = 0.2 : f64, decay_steps = 4 : i64, "
     "decay_rate = 0.7 : f64, staircase = true",
     [](double t) { return 0.2 * std::pow(0.7, std::floor(t / 4)); }},
    {"piecewise",
     "class_name = \"PiecewiseConstantDecay\", boundaries = [2 : i64, 5 : i64], values = [1.0 : "
     "f64, 0.5 : f64, 0.25 : f64]",
     [](double t) { return t <= 2   ? 1
                           : t <= 5 ? 0.5
                                    : 0.25; }},
    {"polynomial",
     "class_name = \"PolynomialDecay\", initial_learning_rate = 0.5 : f64, decay_steps = 6 : i64, "
     "end_learning_rate = 0.1 : f64, power = 2.0 : f64, cycle = false",
     [](double t) { return 0.4 * std::pow(1 - std::min(t, 6.0) / 6, 2) + 0.1; }},
    {"polynomial_cycle",
     "class_name = \"PolynomialDecay\", initial_learning_rate = 0.5 : f64, decay_steps = 3 : i64, "
     "end_learning_rate = 0.1 : f64, power = 1.0 : f64, cycle = true",
     [](double t) { return 0.4 * (1 - t / (3 * (t == 0 ? 1 : std::ceil(t / 3)))) + 0.1; }},
    {"inverse_time",
     "class_name = \"InverseTimeDecay\", initial_learning_rate = 0.5 : f64, decay_steps = 3 : i64, "
     "decay_rate = 0.5 : f64, staircase = false",
     [](double t) { return 0.5 / (1 + 0.5 * t / 3); }},
    {"cosine",
     "class_name = \"CosineDecay\", initial_learning_rate = 0.5 : f64, decay_steps = 6 : i64, "
     "alpha = 0.1 : f64",
     [](double t) { return 0.5 * (0.9 * cosine(std::min(t, 6.0) / 6) + 0.1); }},
    {"cosine_warmup",
     "class_name = \"CosineDecay\", initial_learning_rate = 0.0 : f64, decay_steps = 5 : i64, "
     "alpha = 0.1 : f64, warmup_target = 0.02 : f64, warmup_steps = 3 : i64",
     [](double t) {
       return t < 3 ? 0.02 * t / 3 : 0.02 * (0.9 * cosine(std::min(t - 3, 5.0) / 5) + 0.1);
     }},
    {"cosine_restarts",
     "class_name = \"CosineDecayRestarts\", initial_learning_rate = 0.5 : f64, first_decay_steps = "
     "3 : i64, t_mul = 2.0 : f64, m_mul = 0.5 : f64, alpha = 0.0 : f64",
     [](double t) { return t < 3 ? 0.5 * cosine(t / 3) : 0.25 * cosine((t - 3) / 6); }},
    {"cosine_restarts_equal",
     "class_name = \"CosineDecayRestarts\", initial_learning_rate = 0.5 : f64, first_decay_steps = "
     "4 : i64, t_mul = 1.0 : f64, m_mul = 0.5 : f64, alpha = 0.2 : f64",
     [](double t) {
       return 0.5 *
              (0.8 * std::pow(0.5, std::floor(t / 4)) * cosine(t / 4 - std::floor(t / 4)) + 0.2);
     }},
};

class LearningRate : public testing::TestWithParam<Schedule> {};

TEST_P(LearningRate, FollowsTheSchedule) {
  TrainingLoop loop(optimizer(kSGD, 0, std::string("schedule = {") + GetParam().config + "}"), {0});
  ASSERT_TRUE(loop.valid());
  EXPECT_EQ(loop.optimizerVariables(), std::vector<std::string>{"optimizer/o/iteration"});
  for (int t = 0; t < 9; ++t) {
    ASSERT_TRUE(loop.step({1}));
    double expected = GetParam().rate(t);
    EXPECT_NEAR(loop.output("learning_rate"), expected, 2e-6 * std::fabs(expected) + 1e-8)
        << "step " << t;
  }
}

INSTANTIATE_TEST_SUITE_P(Schedules, LearningRate, testing::ValuesIn(kSchedules),
                         [](const testing::TestParamInfo<Schedule> &info) {
                           return std::string(info.param.name);
                         });

} // namespace
