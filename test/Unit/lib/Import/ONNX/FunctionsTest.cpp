// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which body an op has in which opset.
#include "mpc/Import/ONNX/Functions.h"

#include <gtest/gtest.h>
#include <set>

using namespace mpc::onnx;

TEST(Functions, Versions) {
  EXPECT_EQ(findFunction("Celu", 27), nullptr); // its body depended on the call before
  ASSERT_NE(findFunction("Celu", 28), nullptr);
  EXPECT_EQ(findFunction("Conv", 28), nullptr);
  EXPECT_EQ(findFunction("", 28), nullptr);
  EXPECT_EQ(findFunction("HardSwish", 13), nullptr);
  EXPECT_EQ(findFunction("HardSwish", 14)->opsets.at(0).version, 14);
  EXPECT_EQ(findFunction("HardSwish", 21)->opsets.at(0).version, 14);
  EXPECT_EQ(findFunction("HardSwish", 22)->opsets.at(0).version, 22);
  // An older model than the body: the body, with its own opset.
  EXPECT_EQ(findFunction("Elu", 7)->opsets.at(0).version, 18);
  EXPECT_EQ(findFunction("Elu", 28), findFunction("Elu", 18));
  EXPECT_EQ(findFunction("MeanVarianceNormalization", 9)->opsets.at(0).version, 9);
  EXPECT_EQ(findFunction("MeanVarianceNormalization", 13)->opsets.at(0).version, 13);
  EXPECT_EQ(findFunction("MeanVarianceNormalization", 17)->opsets.at(0).version, 13);
  EXPECT_EQ(findFunction("MeanVarianceNormalization", 18)->opsets.at(0).version, 18);
}

TEST(Functions, Body) {
  const Function &elu = *findFunction("Elu", 22);
  EXPECT_EQ(elu.inputs, std::vector<std::string>{"X"});
  EXPECT_EQ(elu.outputs, std::vector<std::string>{"Y"});
  ASSERT_EQ(elu.defaults.size() + elu.attributes.size(), 1u);
  ASSERT_EQ(elu.defaults.size(), 1u);
  EXPECT_EQ(elu.defaults[0].name, "alpha");
  EXPECT_EQ(std::get<float>(elu.defaults[0].value), 1.0f);
  EXPECT_EQ(elu.nodes.size(), 11u);
  // Every name that a node reads was written before it.
  std::set<std::string> known(elu.inputs.begin(), elu.inputs.end());
  for (const Node &node : elu.nodes) {
    for (const std::string &input : node.inputs)
      EXPECT_TRUE(known.count(input)) << input;
    known.insert(node.outputs.begin(), node.outputs.end());
  }
  EXPECT_TRUE(known.count("Y"));
}
