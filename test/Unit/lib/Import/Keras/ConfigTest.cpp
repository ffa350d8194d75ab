// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Architectures as Keras 3 and older ones write them, and JSON that is not one.
#include "mpc/Import/Keras/Config.h"

#include "mpc/Import/Keras/Archive.h"

#include "test/Unit/Fixtures.h"
#include <cmath>
#include <filesystem>
#include <gtest/gtest.h>

using namespace mpc::keras;

namespace {

std::string errorOf(const std::string &text, const ConfigLimits &limits = {}) {
  llvm::Expected<ModelConfig> model = parseModelConfig(text, "m.json", limits);
  return model ? "" : llvm::toString(model.takeError());
}

ModelConfig parse(const std::string &text) {
  llvm::Expected<ModelConfig> model = parseModelConfig(text, "m.json");
  if (!model) {
    ADD_FAILURE() << llvm::toString(model.takeError());
    return {};
  }
  return std::move(*model);
}

TEST(PythonJson, AcceptsTheLiteralsThatPythonWrites) {
  llvm::Expected<llvm::json::Value> value =
      parsePythonJson("[Infinity, -Infinity, NaN, \"NaN Infinity \\\" NaN\", -1.5]", "x");
  ASSERT_TRUE(bool(value)) << llvm::toString(value.takeError());
  const llvm::json::Array &array = *value->getAsArray();
  EXPECT_EQ(array[0].getAsNumber(), HUGE_VAL);
  EXPECT_EQ(array[1].getAsNumber(), -HUGE_VAL);
  EXPECT_FALSE(array[2].getAsNumber());
  EXPECT_EQ(array[3].getAsString(), llvm::StringRef("NaN Infinity \" NaN"));
  EXPECT_EQ(array[4].getAsNumber(), -1.5);
}

TEST(PythonJson, BoundsDepthCountAndSize) {
  EXPECT_NE(errorOf(std::string(1000000, '[')).find("deeper than 200 levels"), std::string::npos);
  ConfigLimits limits;
  limits.maxValues = 10;
  EXPECT_NE(errorOf("[0,0,0,0,0,0,0,0,0,0,0,0]", limits).find("more than 10 values"),
            std::string::npos);
  limits = {};
  limits.maxBytes = 3;
  EXPECT_NE(errorOf("[0,0]", limits).find("at most 3"), std::string::npos);
}

TEST(ParseModelConfig, NamesWhatIsWrong) {
  EXPECT_NE(errorOf("").find("m.json: not valid JSON"), std::string::npos);
  EXPECT_NE(errorOf("{\"a\": \"\xff\"}").find("not valid JSON"), std::string::npos);
  EXPECT_NE(errorOf("{}").find("no Keras object"), std::string::npos);
  EXPECT_NE(errorOf("[1]").find("no Keras object"), std::string::npos);
  EXPECT_NE(
      errorOf(R"({"class_name": "MyModel", "module": null, "config": {}})").find("class 'MyModel'"),
      std::string::npos);
  EXPECT_NE(errorOf(R"({"class_name": "Sequential", "module": "evil", "config": {"layers": []}})"),
            "");
  EXPECT_NE(errorOf(R"({"class_name": "Functional", "config": {}})").find("no list 'layers'"),
            std::string::npos);
}

TEST(ParseModelConfig, ReportsAllErrorsAtOnce) {
  const std::string error = errorOf(R"({"class_name": "Functional", "config": {"name": "f",
      "layers": [7, {"class_name": "Dense", "config": {}},
                 {"class_name": "Dense", "name": "d", "config": {},
                  "inbound_nodes": [{"args": [{"class_name": "__keras_tensor__", "config": {}}]}]},
                 {"class_name": "Dense", "name": "d", "config": {}}],
      "input_layers": [["x", 0, 0]]}})");
  for (const char *part :
       {"m.json:layers[0]: a layer entry needs", "m.json:layers[1]: a layer of class Dense has no",
        "m.json:d: a tensor argument", "two layers are called 'd'", "missing 'output_layers'"})
    EXPECT_NE(error.find(part), std::string::npos) << part << "\n" << error;
}

TEST(ParseModelConfig, ReadsStructuresInTheirNesting) {
  const ModelConfig model = parse(R"({"class_name": "Functional", "config": {"name": "f",
      "layers": [{"class_name": "Add", "name": "add", "config": {"name": "add"}, "inbound_nodes": [
        {"args": [[{"class_name": "__keras_tensor__",
                    "config": {"keras_history": ["x", 1, 2], "dtype": "float16"}}, 2.5]],
         "kwargs": {"b": null, "a": [1]}}]}],
      "input_layers": {"q": ["y", 0, 0], "p": [["x", 0, 0]]}, "output_layers": ["add", 0, 0]}})");
  ASSERT_EQ(model.layers.size(), 1u);
  ASSERT_EQ(model.layers[0].calls.size(), 1u);
  const Node &call = model.layers[0].calls[0];
  ASSERT_EQ(call.arguments.size(), 1u);
  ASSERT_EQ(call.arguments[0].kind, Argument::Kind::List);
  ASSERT_EQ(call.arguments[0].items.size(), 2u);
  EXPECT_EQ(call.arguments[0].items[0].tensor.layer, "x");
  EXPECT_EQ(call.arguments[0].items[0].tensor.node, 1u);
  EXPECT_EQ(call.arguments[0].items[0].tensor.tensor, 2u);
  EXPECT_EQ(call.arguments[0].items[0].tensor.dtype, "float16");
  EXPECT_EQ(call.arguments[0].items[1].constant.getAsNumber(), 2.5);
  ASSERT_EQ(call.keywords.size(), 2u);
  EXPECT_EQ(call.keywords[0].first, "a");
  EXPECT_FALSE(model.layers[0].buildConfig);
  // Dictionaries flatten by sorted key.
  const auto inputs = model.inputs.tensors();
  ASSERT_EQ(inputs.size(), 2u);
  EXPECT_EQ(inputs[0]->layer, "x");
  EXPECT_EQ(inputs[1]->layer, "y");
  EXPECT_EQ(model.outputs.kind, Argument::Kind::Tensor);
}

TEST(ParseModelConfig, ReadsTheOlderNodeForm) {
  const ModelConfig model = parse(R"({"class_name": "Model", "config": {"name": "f",
      "layers": [{"class_name": "Add", "name": "add", "config": {},
                  "inbound_nodes": [[["x", 0, 0, {"k": 1}], ["y", 0, 0, {}]]]},
                 {"class_name": "ReLU", "name": "r", "config": {},
                  "inbound_nodes": [[["add", 0, 0, {}]]]}],
      "input_layers": [["x", 0, 0]], "output_layers": [["r", 0, 0]]}})");
  ASSERT_EQ(model.layers.size(), 2u);
  const Node &add = model.layers[0].calls[0];
  ASSERT_EQ(add.arguments[0].kind, Argument::Kind::List);
  EXPECT_EQ(add.arguments[0].items[1].tensor.layer, "y");
  EXPECT_EQ(add.keywords[0].first, "k");
  EXPECT_EQ(model.layers[1].calls[0].arguments[0].kind, Argument::Kind::Tensor);
}

TEST(ParseModelConfig, ReadsSequentialModelsWithTheirShape) {
  const ModelConfig model = parse(R"({"module": "keras", "class_name": "Sequential",
      "config": {"name": "s", "trainable": false, "layers": [
        {"class_name": "Sequential", "config": {"name": "inner", "layers": []}}],
      "build_input_shape": [null, 4]}, "compile_config": {"loss": "mse"}})");
  EXPECT_EQ(model.kind, ModelConfig::Kind::Sequential);
  EXPECT_FALSE(model.trainable);
  ASSERT_TRUE(model.buildShape);
  EXPECT_EQ(*model.buildShape, (std::vector<int64_t>{-1, 4}));
  ASSERT_TRUE(model.layers[0].model);
  EXPECT_EQ(model.layers[0].model->name, "inner");
  EXPECT_EQ(model.compileConfig.getString("loss"), llvm::StringRef("mse"));
}

TEST(ParseModelConfig, ReadsEveryFixture) {
  unsigned count = 0;
  const std::string root = mpc::test::fixturePath("keras");
  for (const auto &entry : std::filesystem::recursive_directory_iterator(root)) {
    if (entry.path().extension() != ".keras")
      continue;
    auto file = llvm::MemoryBuffer::getFile(entry.path().string());
    ASSERT_TRUE(bool(file));
    llvm::Expected<Archive> archive = readArchive(**file);
    ASSERT_TRUE(bool(archive)) << llvm::toString(archive.takeError());
    llvm::Expected<ModelConfig> model = parseModelConfig(archive->config, entry.path().string());
    EXPECT_TRUE(bool(model)) << llvm::toString(model.takeError());
    ++count;
  }
  EXPECT_GE(count, 400u);
}

} // namespace
