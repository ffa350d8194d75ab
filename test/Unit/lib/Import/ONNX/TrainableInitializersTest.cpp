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
