// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which initializers train, by the nodes that read them.
#include "test/Unit/lib/Import/ONNX/ImportGraph.h"

using namespace mpc::onnx;

namespace {

// Means that are subtracted, and numbers in vectors of one element, are constants.
TEST_F(ImportGraphTest, VectorsTrainWhereBiasesAndFactorsAre) {
  makeProduct();
  auto addVector = [&](std::string name, size_t count) {
    model.graph.initializers.push_back(makeTensor<float>(name, DataType::Float, {int64_t(count)},
                                                         std::vector<float>(count, 1.0f), storage));
  };
  for (const char *name : {"mean", "top", "factor"})
    addVector(name, 3);
  for (const char *name : {"half", "bias"})
    addVector(name, 1);
  model.graph.initializers.push_back(
      makeTensor<float>("column", DataType::Float, {3, 1}, {1, 1, 1}, storage));
  model.graph.nodes.push_back(makeNode("Sub", {"y", "mean"}, {"centered"}));
  model.graph.nodes.push_back(makeNode("Mul", {"centered", "factor"}, {"scaled"}));
  model.graph.nodes.push_back(makeNode("Sub", {"top", "scaled"}, {"below"}));
  model.graph.nodes.push_back(makeNode("Add", {"half", "below"}, {"moved"}));
  model.graph.nodes.push_back(makeNode("MatMul", {"moved", "column"}, {"score"}));
  model.graph.nodes.push_back(makeNode("Add", {"bias", "score"}, {"z"}));
  model.graph.outputs = {makeValue("z", DataType::Float, {-1, 1})};
  ASSERT_EQ(import(), "");
  for (const char *name : {"w", "top", "factor", "column", "bias"}) {
    ASSERT_TRUE(findVariable(name)) << name;
    EXPECT_EQ(findVariable(name).getRole(), mpc::VariableRole::Trainable) << name;
  }
  EXPECT_FALSE(findVariable("mean"));
  EXPECT_FALSE(findVariable("half"));
}

/// The initializers that train, in the order of their names.
class TrainableInitializersTest : public ImportGraphTest {
protected:
  void addWeight(std::string name, std::vector<int64_t> shape) {
    int64_t count = 1;
    for (int64_t extent : shape)
      count *= extent;
    model.graph.initializers.push_back(makeTensor<float>(
        std::move(name), DataType::Float, shape, std::vector<float>(size_t(count), 0.5f), storage));
  }
  void addList(std::string name, std::vector<int64_t> values) {
    model.graph.initializers.push_back(makeTensor<int64_t>(
        std::move(name), DataType::Int64, {int64_t(values.size())}, values, storage));
  }
  std::vector<std::string> findTrained() {
    std::vector<std::string> names;
    EXPECT_EQ(import(), "");
    imported.module->walk([&](mpc::VariableOp variable) {
      if (variable.getRole() == mpc::VariableRole::Trainable)
        names.push_back(variable.getSymName().str());
    });
    llvm::sort(names);
    return names;
  }
};

// Heads of attention have a bias each; a mask behind a product of values, and places that are added
// to all rows, are constants.
TEST_F(TrainableInitializersTest, BiasesBehindProductsInAnotherForm) {
  model.graph.inputs = {makeValue("x", DataType::Float, {-1, 3, 4})};
  addWeight("w", {4, 6});
  addWeight("heads", {2, 3});
  addWeight("places", {1, 3, 6});
  addWeight("mask", {3, 3});
  addList("split", {0, 3, 2, 3});
  addList("joined", {0, 3, 6});
  model.graph.nodes = {makeNode("MatMul", {"x", "w"}, {"product"}),
                       makeNode("Reshape", {"product", "split"}, {"parts"}),
                       makeNode("Add", {"parts", "heads"}, {"biased"}),
                       makeNode("Reshape", {"biased", "joined"}, {"rows"}),
                       makeNode("Add", {"rows", "places"}, {"placed"}),
                       makeNode("Transpose", {"placed"}, {"columns"},
                                {makeAttribute("perm", std::vector<int64_t>{0, 2, 1})}),
                       makeNode("MatMul", {"placed", "columns"}, {"scores"}),
                       makeNode("Add", {"scores", "mask"}, {"y"})};
  model.graph.outputs = {makeValue("y", DataType::Float, {-1, 3, 3})};
  EXPECT_EQ(findTrained(), (std::vector<std::string>{"heads", "w"}));
}

// A row beside values of the graph is no weight of the product behind them, two weights are.
TEST_F(TrainableInitializersTest, PartsThatAreJoined) {
  model.graph.inputs = {makeValue("x", DataType::Float, {2, 4})};
  addWeight("row", {1, 4});
  addWeight("left", {4, 2});
  addWeight("right", {4, 3});
  model.graph.nodes = {
      makeNode("Concat", {"x", "row"}, {"rows"}, {makeAttribute("axis", int64_t(0))}),
      makeNode("Concat", {"left", "right"}, {"w"}, {makeAttribute("axis", int64_t(1))}),
      makeNode("MatMul", {"rows", "w"}, {"y"})};
  model.graph.outputs = {makeValue("y", DataType::Float, {3, 5})};
  EXPECT_EQ(findTrained(), (std::vector<std::string>{"left", "right"}));
}

// As tf2onnx writes Keras's Conv1D and LayerNormalization.
TEST_F(TrainableInitializersTest, BiasesOfFiltersAndFactorsWithOnesInFront) {
  model.graph.inputs = {makeValue("x", DataType::Float, {-1, 2, 1, 5})};
  addWeight("filters", {4, 2, 1, 1});
  addWeight("bias", {1, 4, 1});
  addWeight("factor", {1, 1, 5});
  addWeight("grid", {1, 4, 5});
  addList("axis", {2});
  model.graph.nodes = {makeNode("Conv", {"x", "filters"}, {"product"}),
                       makeNode("Squeeze", {"product", "axis"}, {"flat"}),
                       makeNode("Add", {"flat", "bias"}, {"biased"}),
                       makeNode("Mul", {"biased", "factor"}, {"scaled"}),
                       makeNode("Mul", {"scaled", "grid"}, {"y"})};
  model.graph.outputs = {makeValue("y", DataType::Float, {-1, 4, 5})};
  EXPECT_EQ(findTrained(), (std::vector<std::string>{"bias", "factor", "filters"}));
}

// A recurrence of TensorFlow: weights go through the loop, biases are rows of one tensor, and the
// first state, which is multiplied too, is no weight.
TEST_F(TrainableInitializersTest, WeightsThatALoopCarries) {
  model.graph.inputs = {makeValue("x", DataType::Float, {3, 4})};
  addWeight("start", {3, 4});
  addWeight("recurrent", {4, 4});
  addWeight("outer", {4, 4});
  addWeight("biases", {2, 4});
  model.graph.initializers.push_back(
      makeTensor<int64_t>("trips", DataType::Int64, {}, {2}, storage));
  addList("row", {0});
  auto body = std::make_shared<Graph>();
  body->inputs = {makeValue("i", DataType::Int64, {}), makeValue("on", DataType::Bool, {}),
                  makeValue("h", DataType::Float, {3, 4}),
                  makeValue("carried", DataType::Float, {4, 4}),
                  makeValue("rows", DataType::Float, {2, 4})};
  body->nodes = {
      makeNode("Identity", {"on"}, {"still"}),
      makeNode("Split", {"rows"}, {"first", "second"}, {makeAttribute("num_outputs", int64_t(2))}),
      makeNode("Squeeze", {"first", "row"}, {"bias"}),
      makeNode("MatMul", {"h", "carried"}, {"inner"}),
      makeNode("Add", {"inner", "bias"}, {"sum"}),
      makeNode("MatMul", {"sum", "outer"}, {"next"}),
      makeNode("Identity", {"carried"}, {"same"})};
  body->outputs = {
      makeValue("still", DataType::Bool, {}), makeValue("next", DataType::Float, {3, 4}),
      makeValue("same", DataType::Float, {4, 4}), makeValue("rows", DataType::Float, {2, 4})};
  model.graph.nodes = {makeNode("Loop", {"trips", "", "start", "recurrent", "biases"},
                                {"h2", "w2", "b2"}, {makeAttribute("body", body)}),
                       makeNode("Add", {"x", "h2"}, {"y"})};
  model.graph.outputs = {makeValue("y", DataType::Float, {3, 4})};
  EXPECT_EQ(findTrained(), (std::vector<std::string>{"biases", "outer", "recurrent"}));
}

// PyTorch's table[rows].
TEST_F(ImportGraphTest, TablesReadByTuplesTrain) {
  model.graph.inputs = {makeValue("rows", DataType::Int64, {-1, 1})};
  model.graph.initializers = {
      makeTensor<float>("table", DataType::Float, {2, 3}, std::vector<float>(6, 1.0f), storage)};
  model.graph.nodes = {makeNode("GatherND", {"table", "rows"}, {"y"})};
  model.graph.outputs = {makeValue("y", DataType::Float, {-1, 3})};
  ASSERT_EQ(import(), "");
  ASSERT_TRUE(findVariable("table"));
  EXPECT_EQ(findVariable("table").getRole(), mpc::VariableRole::Trainable);
}

} // namespace
