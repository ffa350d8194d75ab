// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every fixture either imports with the variables that Keras lists, each with the value of the
// dataset that Keras keeps it in, or names what is not supported.
#include "mpc/Import/Keras/Import.h"

#include "dialects/mpc/IR/Mpc.h"
#include "mpc/Import/Keras/Archive.h"

#include "mlir/IR/Verifier.h"

#include "test/Unit/Fixtures.h"
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

using namespace mpc;
using namespace mpc::keras;
namespace fs = std::filesystem;

namespace {

std::string read(const fs::path &path) {
  std::ifstream stream(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(stream), {});
}

std::string errorOf(const std::string &json) {
  mlir::MLIRContext context;
  llvm::Expected<ImportedModel> model =
      importKeras(llvm::MemoryBufferRef(json, "m.json"), {}, context);
  return model ? "" : llvm::toString(model.takeError());
}

/// Compares one imported fixture with its case.json.
void compare(const fs::path &folder, ImportedModel &model) {
  SCOPED_TRACE(folder.string());
  EXPECT_TRUE(mlir::succeeded(mlir::verify(*model.module)));
  llvm::Expected<llvm::json::Value> json = llvm::json::parse(read(folder / "case.json"));
  ASSERT_TRUE(bool(json));
  const llvm::json::Object &expected = *json->getAsObject();

  auto file = llvm::MemoryBuffer::getFile((folder / "model.keras").string());
  ASSERT_TRUE(bool(file));
  llvm::Expected<Archive> archive = readArchive(**file);
  ASSERT_TRUE(bool(archive));
  llvm::Expected<WeightFile> weights = readWeights(*archive->weights);
  ASSERT_TRUE(bool(weights));

  std::vector<VariableOp> variables;
  for (VariableOp variable : model.module->getOps<VariableOp>())
    if (variable.getRole() != VariableRole::Random)
      variables.push_back(variable);
  size_t next = 0;
  for (const llvm::json::Value &value : *expected.getArray("variables")) {
    const llvm::json::Object &row = *value.getAsObject();
    const llvm::StringRef path = *row.getString("path");
    if (path.contains("seed_generator"))
      continue;
    ASSERT_LT(next, variables.size());
    VariableOp variable = variables[next++];
    // Keras lists SpectralNormalization's vector between the variables of the layer that it wraps,
    // mpc behind them.
    if (folder.filename().string().rfind("spectralnorm", 0) == 0)
      for (VariableOp named : variables)
        if (named.getSymName() == path)
          variable = named;
    EXPECT_EQ(variable.getSymName().str(), path.str());
    EXPECT_EQ(variable.getRole() == VariableRole::Trainable, *row.getBoolean("trainable"));
    std::vector<int64_t> dims;
    for (const llvm::json::Value &extent : *row.getArray("shape"))
      dims.push_back(*extent.getAsInteger());
    EXPECT_EQ(mlir::cast<mlir::RankedTensorType>(variable.getType()).getShape().vec(), dims);
    const std::optional<llvm::StringRef> dataset = row.getString("h5");
    if (!dataset)
      continue;
    ASSERT_TRUE(model.weights.count(path.str()));
    EXPECT_EQ(model.weights[path.str()].bytes, weights->at(dataset->str()).bytes) << path.str();
  }
  EXPECT_EQ(next, variables.size());
  // Everything that the layers' groups hold is written back, too, or Keras does not read the file.
  for (const auto &[dataset, stored] : *weights)
    if (llvm::StringRef(dataset).starts_with("layers/") &&
        !llvm::StringRef(dataset).contains("seed_generator"))
      EXPECT_TRUE(model.datasets.count(dataset)) << dataset;
}

TEST(ImportKeras, EveryFixtureImportsOrSaysWhyNot) {
  unsigned imported = 0, refused = 0;
  for (const auto &entry : fs::recursive_directory_iterator(mpc::test::fixturePath("keras"))) {
    if (entry.path().filename() != "model.keras")
      continue;
    mlir::MLIRContext context;
    llvm::Expected<ImportedModel> model = importKeras(entry.path().string(), {}, context);
    if (model) {
      compare(entry.path().parent_path(), *model);
      ++imported;
      continue;
    }
    ++refused;
    const std::string error = llvm::toString(model.takeError());
    EXPECT_TRUE(error.find("support") != std::string::npos) << entry.path() << ": " << error;
    EXPECT_EQ(error.find("could not be imported"), std::string::npos) << entry.path();
  }
  EXPECT_GE(imported, 115u);
  EXPECT_GE(imported + refused, 400u);
}

TEST(ImportKeras, TheSameFileGivesTheSameIR) {
  const std::string path =
      mpc::test::fixturePath("keras/forward/shared_layer__mixed_float16/model.keras");
  std::string first, second;
  for (std::string *text : {&first, &second}) {
    mlir::MLIRContext context;
    llvm::Expected<ImportedModel> model = importKeras(path, {}, context);
    ASSERT_TRUE(bool(model)) << llvm::toString(model.takeError());
    llvm::raw_string_ostream stream(*text);
    model->module->print(stream, mlir::OpPrintingFlags().enableDebugInfo());
  }
  EXPECT_EQ(first, second);
}

TEST(ImportKeras, WeightsCanBeLeftAside) {
  const std::string path =
      mpc::test::fixturePath("keras/train/resume__mixed_float16/model_resume.keras");
  mlir::MLIRContext context;
  llvm::Expected<ImportedModel> whole = importKeras(path, {}, context);
  ASSERT_TRUE(bool(whole)) << llvm::toString(whole.takeError());
  EXPECT_TRUE(whole->hasWeights);
  EXPECT_FALSE(whole->optimizerVariables.empty());
  EXPECT_TRUE(whole->compileConfig.get("optimizer"));
  ImportOptions options;
  options.readWeights = false;
  llvm::Expected<ImportedModel> bare = importKeras(path, options, context);
  ASSERT_TRUE(bool(bare)) << llvm::toString(bare.takeError());
  EXPECT_FALSE(bare->hasWeights);
  EXPECT_TRUE(bare->weights.empty() && bare->optimizerVariables.empty());
}

/// A model nested in itself `depth` times, called twice on each level.
std::string nest(int depth) {
  auto tensor = [](const char *layer, int node) {
    return R"({"args": [{"class_name": "__keras_tensor__", "config": {"keras_history": [")" +
           std::string(layer) + "\", " + std::to_string(node) + ", 0]}}], \"kwargs\": {}}";
  };
  std::string inner = R"({"module": "keras.layers", "class_name": "ReLU", "name": "m",
      "config": {"name": "m"}, "inbound_nodes": [)" +
                      tensor("x", 0) + ", " + tensor("m", 0) + "]}";
  for (int level = 0; level < depth; ++level) {
    const std::string model =
        R"("module": "keras", "class_name": "Functional", "config": {"name": "m", "layers": [
        {"module": "keras.layers", "class_name": "InputLayer", "name": "x",
         "config": {"name": "x", "batch_shape": [null, 2], "dtype": "float32"}}, )" +
        inner + R"(], "input_layers": [["x", 0, 0]], "output_layers": [["m", 1, 0]]})";
    if (level + 1 == depth)
      return "{" + model + "}";
    inner = "{\"name\": \"m\", \"inbound_nodes\": [" + tensor("x", 0) + ", " + tensor("m", 0) +
            "], " + model + "}";
  }
  return "";
}

TEST(ImportKeras, ExponentialNestingIsRefused) {
  EXPECT_EQ(errorOf(nest(3)), "");
  EXPECT_NE(errorOf(nest(30)).find("calls layers more than 100000 times"), std::string::npos)
      << errorOf(nest(30)).substr(0, 500);
}

} // namespace
