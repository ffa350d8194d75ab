// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The search for policies against a look at every map, with errors that are made up.
#include "mpc/Numerics/Search/PolicySearch.h"
#include "gtest/gtest.h"
#include <cmath>
#include <random>

using namespace mpc;

namespace {

const TargetSpeeds kSpeeds = {"test", 100, 200, 100, 400, 10, 2};

DTypePolicy policyOf(llvm::StringRef name) { return llvm::cantFail(parsePolicyName(name)); }

/// A chain of layers of which each second multiplies matrices.
std::vector<LayerWork> chainOf(size_t count, std::mt19937 &random) {
  std::uniform_real_distribution<double> size(0, 4);
  std::vector<LayerWork> layers(count);
  for (size_t i = 0; i < count; ++i) {
    layers[i].path = "layer_" + std::to_string(i);
    layers[i].kind = "Dense";
    layers[i].outputs = std::pow(10, 2 + size(random));
    layers[i].weights = std::pow(10, 1 + size(random));
    layers[i].products = i % 2 ? 0 : layers[i].weights * 3000;
    layers[i].inputs.push_back(
        {i ? std::optional(i - 1) : std::nullopt, i ? layers[i - 1].outputs : 1e3});
  }
  return layers;
}

/// Every layer adds what its policy is off by.
struct AdditiveErrors {
  std::vector<double> ofLayers;
  double tolerance;
  size_t runs = 0;

  double of(const PolicyAssignment &assignment) const {
    double sum = 0;
    for (size_t i = 0; i < assignment.size(); ++i)
      sum += assignment[i] ? ofLayers[i] / assignment[i] : 0;
    return sum;
  }
  SearchOracle oracle() {
    SearchOracle oracle;
    oracle.run = [this](const PolicyAssignment &assignment) -> llvm::Expected<TrialResult> {
      ++runs;
      return TrialResult{of(assignment) <= tolerance, of(assignment) / tolerance, ""};
    };
    oracle.measureSensitivities = [this](const PolicyAssignment &) { return ofLayers; };
    return oracle;
  }
};

std::vector<std::vector<unsigned>> allOf(const CostModel &model) {
  std::vector<std::vector<unsigned>> allowed(model.getLayers().size());
  for (size_t i = 0; i < allowed.size(); ++i)
    for (unsigned policy = 0; policy < model.getPolicies().size(); ++policy)
      if (model.mayHave(i, policy))
        allowed[i].push_back(policy);
  return allowed;
}

AdditiveErrors errorsOf(size_t count, std::mt19937 &random) {
  std::uniform_real_distribution<double> size(0, 3);
  AdditiveErrors errors;
  double sum = 0;
  for (size_t i = 0; i < count; ++i) {
    errors.ofLayers.push_back(std::pow(10, size(random)));
    sum += errors.ofLayers.back();
  }
  errors.tolerance = sum * std::uniform_real_distribution<double>(0.01, 1.1)(random);
  return errors;
}

} // namespace

TEST(PolicySearch, FindsTheBestOfAllMaps) {
  std::mt19937 random(1);
  size_t runs = 0, maps = 0;
  for (int round = 0; round < 200; ++round) {
    const size_t count = 2 + size_t(round) % 7;
    const CostModel model(chainOf(count, random), {DTypePolicy(), policyOf("mixed_bfloat16")},
                          kSpeeds, SearchObjective::Speed, round % 2);
    AdditiveErrors errors = errorsOf(count, random);
    double best = model.costOf(model.allWide());
    const auto all = PolicySearch::listAll(model, allOf(model), 256);
    ASSERT_EQ(all.size(), size_t(1) << count);
    bool gains = false, holds = false;
    for (const PolicyAssignment &assignment : all) {
      const double cost = model.costOf(assignment);
      gains |= cost < best;
      if (errors.of(assignment) <= errors.tolerance && cost < best) {
        best = cost;
        holds = true;
      }
    }
    llvm::Expected<SearchOutcome> outcome =
        PolicySearch(model, allOf(model), errors.oracle(), 1000).run();
    ASSERT_TRUE(bool(outcome));
    runs += errors.runs;
    maps += all.size();
    // Nothing but float32 holds: that is for the caller to tell.
    ASSERT_EQ(outcome->chosen.has_value(), holds || !gains);
    if (!outcome->chosen)
      continue;
    EXPECT_LE(errors.of(*outcome->chosen), errors.tolerance);
    EXPECT_LE(model.costOf(*outcome->chosen), best * (1 + 1e-6)) << "round " << round;
  }
  EXPECT_LT(runs, maps / 2);
}

TEST(PolicySearch, StaysNearTheBestOfManyLayers) {
  std::mt19937 random(2);
  size_t ended = 0; // before all runs were used
  for (int round = 0; round < 20; ++round) {
    const CostModel model(chainOf(40, random), {DTypePolicy(), policyOf("mixed_bfloat16")}, kSpeeds,
                          SearchObjective::Speed, true);
    AdditiveErrors errors = errorsOf(40, random);
    errors.tolerance *= 0.5;
    llvm::Expected<SearchOutcome> outcome =
        PolicySearch(model, allOf(model), errors.oracle()).run();
    ASSERT_TRUE(outcome && outcome->chosen);
    EXPECT_LE(errors.of(*outcome->chosen), errors.tolerance);
    EXPECT_LE(errors.runs, 64u);
    ended += errors.runs < 64;
    // No single layer could be narrowed, too.
    for (size_t layer = 0; layer < 40; ++layer) {
      PolicyAssignment narrower = *outcome->chosen;
      narrower[layer] = 1;
      if (errors.runs < 64 && errors.of(narrower) <= errors.tolerance)
        EXPECT_GE(model.costOf(narrower), model.costOf(*outcome->chosen) * (1 - 1e-6));
    }
  }
  EXPECT_GT(ended, 0u);
}

TEST(PolicySearch, TakesTheTypeThatHolds) {
  std::mt19937 random(3);
  // Errors of the second policy are half of those of the first (see AdditiveErrors::of).
  const TargetSpeeds equal = {"test", 100, 200, 199, 400, 10, 2};
  const CostModel model(chainOf(5, random),
                        {DTypePolicy(), policyOf("mixed_bfloat16"), policyOf("mixed_float16")},
                        equal, SearchObjective::Speed, true);
  AdditiveErrors errors{{1, 1, 1, 1, 1}, 2.5};
  llvm::Expected<SearchOutcome> outcome = PolicySearch(model, allOf(model), errors.oracle()).run();
  ASSERT_TRUE(outcome && outcome->chosen);
  EXPECT_LE(errors.of(*outcome->chosen), errors.tolerance);
  size_t narrow = 0;
  for (unsigned policy : *outcome->chosen)
    narrow += policy != 0;
  EXPECT_GE(narrow, 4u);
}

TEST(PolicySearch, RunsNothingWhereNothingIsGained) {
  std::mt19937 random(4);
  const TargetSpeeds slow = {"test", 100, 20, 20, 20, 1e9, 2};
  std::vector<LayerWork> layers = chainOf(6, random);
  for (LayerWork &layer : layers)
    layer.products = std::max(layer.products, 1e6);
  const CostModel model(layers, {DTypePolicy(), policyOf("mixed_bfloat16")}, slow,
                        SearchObjective::Speed, false);
  AdditiveErrors errors{{1, 1, 1, 1, 1, 1}, 100};
  llvm::Expected<SearchOutcome> outcome = PolicySearch(model, allOf(model), errors.oracle()).run();
  ASSERT_TRUE(outcome && outcome->chosen);
  EXPECT_EQ(*outcome->chosen, model.allWide());
  EXPECT_EQ(errors.runs, 0u);
}

TEST(PolicySearch, MeasuredTimesDecide) {
  std::mt19937 random(6);
  for (int round = 0; round < 50; ++round) {
    const CostModel model(chainOf(5, random), {DTypePolicy(), policyOf("mixed_bfloat16")}, kSpeeds,
                          SearchObjective::Speed, true);
    AdditiveErrors errors = errorsOf(5, random);
    // Each narrow layer saves or costs so much here, whatever the table says.
    std::vector<double> savings;
    for (size_t i = 0; i < 5; ++i)
      savings.push_back(std::uniform_real_distribution<double>(-1, 1.5)(random));
    auto timeOf = [&](const PolicyAssignment &assignment) {
      double time = 10;
      for (size_t i = 0; i < 5; ++i)
        time -= assignment[i] ? savings[i] : 0;
      return time;
    };
    SearchOracle oracle = errors.oracle();
    oracle.run = [&, judge = oracle.run](const PolicyAssignment &assignment) {
      llvm::Expected<TrialResult> result = judge(assignment);
      result->time = timeOf(assignment);
      return result;
    };
    llvm::Expected<SearchOutcome> outcome =
        PolicySearch(model, allOf(model), oracle, 1000, timeOf(model.allWide())).run();
    ASSERT_TRUE(bool(outcome));
    if (!outcome->chosen)
      continue;
    const double best = timeOf(*outcome->chosen);
    EXPECT_LE(best, 10);
    EXPECT_LE(errors.of(*outcome->chosen), errors.tolerance);
    for (const Trial &trial : outcome->trials)
      EXPECT_TRUE(!trial.result.holds || trial.result.time >= best * 0.99);
    // No change of one layer is faster.
    for (size_t layer = 0; layer < 5; ++layer) {
      PolicyAssignment other = *outcome->chosen;
      other[layer] = 1 - other[layer];
      EXPECT_TRUE(errors.of(other) > errors.tolerance || timeOf(other) >= best * 0.99);
    }
  }
}

TEST(PolicySearch, SaysWhatCameNearest) {
  std::mt19937 random(5);
  std::vector<LayerWork> layers = chainOf(3, random);
  for (LayerWork &layer : layers)
    layer.inputs.clear(); // each gains by itself
  const CostModel model(layers, {DTypePolicy(), policyOf("mixed_bfloat16")}, kSpeeds,
                        SearchObjective::Memory, false);
  AdditiveErrors errors{{4, 2, 8}, 1};
  llvm::Expected<SearchOutcome> outcome = PolicySearch(model, allOf(model), errors.oracle()).run();
  ASSERT_TRUE(bool(outcome));
  EXPECT_FALSE(outcome->chosen);
  ASSERT_TRUE(outcome->findNearest());
  EXPECT_EQ(outcome->findNearest()->result.excess, 2);
}

TEST(CostModel, CountsConversionsAndForms) {
  std::vector<LayerWork> layers(3);
  for (size_t i = 0; i < 3; ++i) {
    layers[i].path = "l" + std::to_string(i);
    layers[i].kind = i == 1 ? "Dense" : "Activation";
    if (i == 1)
      layers[i].quantizedForms = {"int8"};
    layers[i].outputs = 1e4;
    layers[i].inputs.push_back({i ? std::optional(i - 1) : std::nullopt, 1e4});
  }
  layers[1].products = 1e8;
  layers[1].weights = 1e4;
  layers[2].refused = {"f16"};
  layers[0].isDecided = false;
  const CostModel model(layers,
                        {DTypePolicy(), policyOf("mixed_bfloat16"), policyOf("mixed_float16"),
                         policyOf("int8_from_float32")},
                        kSpeeds, SearchObjective::Speed, false);
  EXPECT_FALSE(model.mayHave(0, 1));
  EXPECT_TRUE(model.mayHave(1, 1) && model.mayHave(1, 2) && model.mayHave(1, 3));
  EXPECT_TRUE(model.mayHave(2, 1));
  EXPECT_FALSE(model.mayHave(2, 2) || model.mayHave(2, 3));
  const double wide = model.costOf({0, 0, 0}), dense = model.costOf({0, 1, 0});
  EXPECT_LT(dense, wide);
  EXPECT_LT(model.costOf({0, 3, 0}), dense);
  // Conversions take a part of what an island without products saves.
  EXPECT_DOUBLE_EQ(model.costOf({0, 0, 1}), wide - 1e4 / kSpeeds.bytes);
}
