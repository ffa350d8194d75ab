// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Keras 2's spellings, as TensorFlow 2.1 to 2.15 wrote them, become Keras 3's.
#include "lib/Import/Keras/Legacy/Config.h"
#include "lib/Import/Keras/Legacy/Version.h"

#include "llvm/Support/raw_ostream.h"

#include <gtest/gtest.h>

using namespace mpc::keras;
namespace json = llvm::json;

namespace {

json::Object parse(llvm::StringRef text) {
  llvm::Expected<json::Value> value = json::parse(text);
  if (!value) {
    ADD_FAILURE() << llvm::toString(value.takeError());
    return {};
  }
  return *value->getAsObject();
}

std::string print(const json::Value &value) {
  std::string text;
  llvm::raw_string_ostream(text) << value;
  return text;
}

/// The last layer of a Sequential model with this one layer entry, modernised.
json::Object modernize(llvm::StringRef layer, std::optional<LegacyLossScale> &scale) {
  json::Object model =
      modernizeModel(parse(("{\"class_name\": \"Sequential\", \"config\": [" + layer + "]}").str()),
                     KerasVersion{2, 16}, scale);
  return *model.getObject("config")->getArray("layers")->back().getAsObject();
}

TEST(LegacyConfig, PoliciesOfTensorFlow21KeepTheirLossScale) {
  std::optional<LegacyLossScale> scale;
  json::Object layer = modernize(
      R"({"class_name": "Dense", "config": {"name": "d", "units": 2, "dtype": {"class_name": "Policy",
          "config": {"name": "mixed_float16", "loss_scale": {"class_name": "DynamicLossScale",
          "config": {"initial_loss_scale": 1024, "increment_period": 50, "multiplier": 2.0}}}}}})",
      scale);
  EXPECT_EQ(print(*layer.getObject("config")->get("dtype")),
            R"({"class_name":"DTypePolicy","config":{"name":"mixed_float16"},"module":"keras",)"
            R"("registered_name":null})");
  ASSERT_TRUE(scale.has_value());
  EXPECT_TRUE(scale->dynamic);
  EXPECT_EQ(scale->initial, 1024);
  EXPECT_EQ(scale->growthSteps, 50);

  json::Object training = modernizeTraining(
      parse(R"({"loss": "mse", "optimizer_config": {"class_name": "SGD", "config": {"lr": 0.5}}})"),
      scale);
  const json::Object *optimizer = training.getObject("optimizer");
  ASSERT_NE(optimizer, nullptr);
  EXPECT_EQ(optimizer->getString("class_name"), llvm::StringRef("LossScaleOptimizer"));
  EXPECT_EQ(optimizer->getObject("config")->getNumber("initial_scale"), 1024.0);
  const json::Object *inner = optimizer->getObject("config")->getObject("inner_optimizer");
  EXPECT_EQ(inner->getObject("config")->getNumber("learning_rate"), 0.5);
}

TEST(LegacyConfig, FixedLossScales) {
  for (llvm::StringRef text :
       {R"(128)", R"({"class_name": "FixedLossScale", "config": {"loss_scale_value": 128.0}})"}) {
    std::optional<LegacyLossScale> scale;
    modernize(
        ("{\"class_name\": \"Dense\", \"config\": {\"name\": \"d\", \"dtype\": {\"class_name\": "
         "\"PolicyV1\", \"config\": {\"name\": \"mixed_float16\", \"loss_scale\": " +
         text + "}}}}")
            .str(),
        scale);
    ASSERT_TRUE(scale.has_value());
    EXPECT_FALSE(scale->dynamic);
    EXPECT_EQ(scale->initial, 128);
  }
}

TEST(LegacyConfig, ScalersOfEveryGeneration) {
  const llvm::StringRef inner = R"({"class_name": "Adam", "config": {"learning_rate": 0.1}})";
  struct Row {
    std::string config;
    double initial;
    bool dynamic;
  };
  const Row rows[] = {
      {R"({"optimizer": INNER, "loss_scale": {"class_name": "DynamicLossScale",
           "config": {"initial_loss_scale": 64, "increment_period": 3}}})",
       64, true},
      {R"({"optimizer": INNER, "loss_scale": {"class_name": "FixedLossScale",
           "config": {"loss_scale_value": 8}}})",
       8, false},
      {R"({"inner_optimizer": INNER, "dynamic": true, "initial_scale": 512.0,
           "dynamic_growth_steps": 7})",
       512, true},
      {R"({"inner_optimizer": INNER, "dynamic": false, "initial_scale": 16.0})", 16, false},
  };
  for (const Row &row : rows)
    for (llvm::StringRef name : {"LossScaleOptimizer", "LossScaleOptimizerV3"}) {
      std::string config = row.config;
      config.replace(config.find("INNER"), 5, inner.str());
      json::Object training =
          modernizeTraining(parse(("{\"loss\": \"mse\", \"optimizer_config\": {\"class_name\": \"" +
                                   name + "\", \"config\": " + config + "}}")
                                      .str()),
                            std::nullopt);
      const json::Object *scaler = training.getObject("optimizer")->getObject("config");
      EXPECT_EQ(scaler->getNumber("initial_scale"), row.initial) << config;
      EXPECT_EQ(scaler->getBoolean("dynamic").value_or(true), row.dynamic) << config;
      EXPECT_EQ(scaler->getObject("inner_optimizer")->getString("class_name"),
                llvm::StringRef("Adam"));
    }
}

TEST(LegacyConfig, LayersAndInputs) {
  std::optional<LegacyLossScale> scale;
  json::Object layer = modernize(
      R"({"class_name": "BatchNormalizationV2", "config": {"name": "b", "axis": [3], "fused": true,
          "batch_input_shape": [null, 4, 4, 2],
          "gamma_initializer": {"class_name": "Ones", "config": {}}}})",
      scale);
  EXPECT_EQ(layer.getString("class_name"), llvm::StringRef("BatchNormalization"));
  const json::Object &config = *layer.getObject("config");
  EXPECT_EQ(config.getInteger("axis"), 3);
  EXPECT_EQ(config.get("fused"), nullptr);
  EXPECT_EQ(config.getObject("gamma_initializer")->getString("module"),
            llvm::StringRef("keras.initializers"));

  json::Object model = modernizeModel(
      parse(R"({"class_name": "Sequential", "config": [{"class_name": "Embedding", "config":
                {"name": "e", "batch_input_shape": [null, 7], "input_dim": 3, "output_dim": 2}}]})"),
      KerasVersion{2, 16}, scale);
  const json::Array &layers = *model.getObject("config")->getArray("layers");
  ASSERT_EQ(layers.size(), 2u);
  const json::Object &input = *layers.front().getAsObject()->getObject("config");
  EXPECT_EQ(print(*input.get("batch_shape")), "[null,7]");
  EXPECT_EQ(input.getString("dtype"), llvm::StringRef("int32")); // ids never pass through floats
}

TEST(LegacyConfig, VersionsOfKeras) {
  EXPECT_FALSE(parseVersion("").has_value());
  EXPECT_FALSE(parseVersion("two").has_value());
  EXPECT_FALSE(parseVersion("2").has_value());
  std::optional<KerasVersion> version = parseVersion("2.2.4-tf");
  ASSERT_TRUE(version.has_value());
  EXPECT_TRUE(version->ofTensorFlow && version->isBefore(2, 3) && !version->isBefore(2, 2));
  EXPECT_FALSE(parseVersion("2.3.1")->ofTensorFlow);
  EXPECT_TRUE(parseVersion("2.4.0")->ofTensorFlow);
  EXPECT_FALSE(parseVersion("3.15.1")->isKeras2());
}

} // namespace
