// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compile configs of Keras 2, and whose rules they mean.
#include "lib/Import/Keras/Legacy/Config.h"
#include "lib/Import/Keras/Legacy/Version.h"

#include "llvm/Support/raw_ostream.h"

#include <gtest/gtest.h>

using namespace mpc;
using namespace mpc::keras;

namespace {

namespace json = llvm::json;

json::Value parse(llvm::StringRef text) {
  llvm::Expected<json::Value> value = json::parse(text);
  if (!value) {
    ADD_FAILURE() << llvm::toString(value.takeError()) << " in " << text.str();
    return nullptr;
  }
  return std::move(*value);
}

std::string print(const json::Value &value) {
  std::string text;
  llvm::raw_string_ostream(text) << value;
  return text;
}

json::Object modernize(llvm::StringRef training) {
  return modernizeTraining(*parse(training).getAsObject(), std::nullopt);
}

TEST(LegacyTraining, OptimizersKeepTheirDecay) {
  json::Object training = modernize(R"({"loss": "mse", "optimizer_config": {"class_name":
      "Custom>RMSprop", "config": {"lr": 0.5, "decay": 0.25, "is_legacy_optimizer": false,
      "jit_compile": true, "epsilon": null}}})");
  EXPECT_EQ(print(*training.get("optimizer")),
            R"({"class_name":"RMSprop","config":{"decay":0.25,"epsilon":9.9999999999999995e-08,)"
            R"("learning_rate":0.5},"module":"keras.optimizers","registered_name":null})");
  json::Object nadam = modernize(R"({"loss": "mse", "optimizer_config": {"class_name": "Nadam",
      "config": {"lr": 0.5, "schedule_decay": 0.004}}})");
  EXPECT_EQ(nadam.getObject("optimizer")->getObject("config")->getNumber("decay"), 0.004);
}

TEST(LegacyTraining, LossesLoseTheirFunction) {
  // As archives of 2.13 and later have it, and HDF5 files of all.
  for (llvm::StringRef function :
       {R"("fn": "sparse_categorical_crossentropy", )",
        R"("fn": {"class_name": "function", "config": "sparse_categorical_crossentropy"}, )", ""}) {
    json::Object compiled = modernizeCompileConfig(
        *parse(
             (R"({"loss": {"module": "keras.losses", "class_name": "SparseCategoricalCrossentropy",
         "config": {)" +
              function + R"("reduction": "auto", "name": "s", "from_logits": true}}})")
                 .str())
             .getAsObject());
    EXPECT_EQ(print(*compiled.getObject("loss")->get("config")),
              R"({"from_logits":true,"name":"s","reduction":"sum_over_batch_size"})");
  }
}

TEST(LegacyTraining, MetricsThatShapesHaveChosen) {
  auto metricOf = [](llvm::StringRef name, llvm::StringRef function) {
    json::Object training = modernize(
        (R"({"loss": "mse", "metrics": [[{"class_name": "MeanMetricWrapper", "config": {"name": ")" +
         name + R"(", "dtype": "float32", "fn": ")" + function + R"("}}]]})")
            .str());
    return print(training.getArray("metrics")->front());
  };
  // Before the first step Keras has not seen whether the targets are classes.
  EXPECT_EQ(metricOf("accuracy", "categorical_accuracy"), "\"accuracy\"");
  EXPECT_EQ(metricOf("acc", "sparse_categorical_accuracy"), "\"acc\"");
  EXPECT_EQ(metricOf("ce", "binary_crossentropy"), "\"ce\"");
  EXPECT_EQ(metricOf("share", "binary_accuracy"),
            R"({"class_name":"BinaryAccuracy","config":{"dtype":"float32","name":"share"},)"
            R"("module":"keras.metrics","registered_name":null})");
}

struct RulesCase {
  const char *version, *optimizer;
  OptimizerFamily family;
  bool masksStayInMeans;
};

TEST(LegacyTraining, RulesFollowVersionThenStructure) {
  const char *const kNew = R"({"class_name": "Custom>Adam", "config": {"learning_rate": 0.1,
      "is_legacy_optimizer": false}})";
  const char *const kV2 =
      R"({"class_name": "Adam", "config": {"learning_rate": 0.1, "decay": 0.0}})";
  const char *const kFirst = R"({"class_name": "Adam", "config": {"lr": 0.1, "decay": 0.0}})";
  const char *const kScaled =
      R"({"class_name": "LossScaleOptimizerV3", "config": {"inner_optimizer":
      {"class_name": "SGD", "config": {"learning_rate": 0.1, "decay": 0.0}}}})";
  const RulesCase cases[] = {
      {"3.5.0", kV2, OptimizerFamily::Keras3, false},
      {"2.16.0", kNew, OptimizerFamily::Keras2, false},
      {"2.12.0", "\"adam\"", OptimizerFamily::Keras2, false},
      {"2.15.0", kV2, OptimizerFamily::OptimizerV2, false},
      {"2.15.0", kScaled, OptimizerFamily::OptimizerV2, false},
      {"2.10.0", kV2, OptimizerFamily::OptimizerV2, false},
      {"2.9.0", kV2, OptimizerFamily::OptimizerV2, true},
      {"2.4.0", kV2, OptimizerFamily::OptimizerV2, true},
      {"2.3.0-tf", kV2, OptimizerFamily::OptimizerV2, true},
      {"2.1.6-tf", kFirst, OptimizerFamily::BeforeTensorFlow2, false},
      {"2.3.1", kV2, OptimizerFamily::BeforeTensorFlow2, true},
      {"2.2.4", kFirst, OptimizerFamily::BeforeTensorFlow2, false},
      {"", kNew, OptimizerFamily::Keras2, false},
      {"", kV2, OptimizerFamily::OptimizerV2, false},
      {"", kFirst, OptimizerFamily::BeforeTensorFlow2, false},
  };
  for (const RulesCase &row : cases) {
    json::Value optimizer = parse(row.optimizer);
    // Where a file has none, 2.16 is assumed.
    std::optional<KerasVersion> version = parseVersion(*row.version ? row.version : "2.16");
    ASSERT_TRUE(version.has_value());
    TrainingRules rules = findTrainingRules(*version, &optimizer);
    EXPECT_EQ(rules.optimizers, row.family) << row.version << " " << row.optimizer;
    EXPECT_EQ(rules.masksStayInMeans, row.masksStayInMeans) << row.version;
  }
}

} // namespace
