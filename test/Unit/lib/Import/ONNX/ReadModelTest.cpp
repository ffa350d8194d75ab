// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Graphs, nodes, attributes, types and functions as they come out of the reader.
#include "test/Unit/lib/Import/ONNX/ModelBytes.h"

#include <gtest/gtest.h>

using namespace mpc::onnx;

namespace {

Model read(const file::ModelProto &model) {
  llvm::Expected<Model> result = readBytes(model.SerializeAsString());
  if (result)
    return std::move(*result);
  ADD_FAILURE() << llvm::toString(result.takeError());
  return {};
}

bool contains(const std::string &text, const char *part) {
  return text.find(part) != std::string::npos;
}

} // namespace

TEST(ReadModel, GraphAndNodes) {
  file::ModelProto model = makeModel();
  model.set_producer_name("p");
  model.mutable_opset_import(0)->set_domain("ai.onnx");
  file::NodeProto &node = *model.mutable_graph()->add_node();
  node.set_op_type("Clip");
  node.set_domain("ai.onnx");
  node.set_name("clip");
  node.add_input("x");
  node.add_input("");
  node.add_output("y");
  file::ValueProto &input = *model.mutable_graph()->add_input();
  input.set_name("x");
  auto &tensor = *input.mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(1);
  tensor.mutable_shape()->add_dim()->set_dim_param("batch");
  tensor.mutable_shape()->add_dim()->set_dim_value(3);
  tensor.mutable_shape()->add_dim();
  tensor.mutable_shape()->add_dim()->set_dim_value(-1);
  model.mutable_graph()->add_output()->set_name("y");
  const Model result = read(model);
  EXPECT_EQ(result.irVersion, 10);
  EXPECT_EQ(result.producer, "p");
  ASSERT_EQ(result.opsets.size(), 1u);
  EXPECT_EQ(result.opsets[0].domain, "");
  EXPECT_EQ(result.opsets[0].version, 21);
  ASSERT_EQ(result.graph.nodes.size(), 1u);
  const Node &clip = result.graph.nodes[0];
  EXPECT_EQ(clip.op + "|" + clip.domain + "|" + clip.name, "Clip||clip");
  EXPECT_EQ(clip.inputs, (std::vector<std::string>{"x", ""}));
  const auto &shape = *result.graph.inputs[0].type->shape;
  ASSERT_EQ(shape.size(), 4u);
  EXPECT_EQ(shape[0].symbol, "batch");
  EXPECT_EQ(shape[1].value, 3);
  EXPECT_FALSE(shape[2].value || shape[3].value);
  EXPECT_FALSE(result.graph.outputs[0].type);
}

TEST(ReadModel, Attributes) {
  file::ModelProto model = makeModel();
  file::NodeProto &node = *model.mutable_graph()->add_node();
  node.set_op_type("Op");
  const auto add = [&](const char *name, int type) -> file::AttributeProto & {
    file::AttributeProto &attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(type);
    return attribute;
  };
  add("f", 1).set_f(0.5f);
  add("zero", 2); // as writers of protobuf's third syntax leave it
  add("s", 3).set_s(std::string("\0\xff", 2));
  auto &constant = *add("t", 4).mutable_t();
  constant.set_data_type(7);
  constant.add_int64_data(9);
  add("g", 5).mutable_g()->set_name("body");
  add("floats", 6).add_floats(1);
  add("ints", 7).add_ints(-3);
  add("strings", 8).add_strings("a");
  add("type", 13)
      .mutable_tp()
      ->mutable_optional_type()
      ->mutable_elem_type()
      ->mutable_sequence_type();
  add("old", 0).add_ints(4);
  add("empty", 0);
  const Model result = read(model);
  const auto &found = result.graph.nodes.at(0).attributes;
  ASSERT_EQ(found.size(), 11u);
  EXPECT_EQ(std::get<float>(found[0].value), 0.5f);
  EXPECT_EQ(std::get<int64_t>(found[1].value), 0);
  EXPECT_EQ(std::get<std::string>(found[2].value).size(), 2u);
  EXPECT_EQ(std::get<Tensor>(found[3].value).bytes.size(), 8u);
  EXPECT_EQ(std::get<std::shared_ptr<Graph>>(found[4].value)->name, "body");
  EXPECT_EQ(std::get<std::vector<float>>(found[5].value).at(0), 1);
  EXPECT_EQ(std::get<std::vector<int64_t>>(found[6].value).at(0), -3);
  EXPECT_EQ(std::get<std::vector<std::string>>(found[7].value).at(0), "a");
  const Type &type = std::get<Type>(found[8].value);
  EXPECT_EQ(type.kind, Type::Kind::Optional);
  EXPECT_EQ(type.element->kind, Type::Kind::Sequence);
  EXPECT_EQ(std::get<std::vector<int64_t>>(found[9].value).at(0), 4);
  EXPECT_TRUE(std::holds_alternative<std::monostate>(found[10].value));
}

TEST(ReadModel, Functions) {
  file::ModelProto model = makeModel();
  file::FunctionProto &function = *model.add_functions();
  function.set_name("f");
  function.set_domain("d");
  function.add_input("x");
  function.add_attribute("alpha");
  function.add_opset_import()->set_version(21);
  file::NodeProto &node = *function.add_node();
  node.set_op_type("Elu");
  file::AttributeProto &attribute = *node.add_attribute();
  attribute.set_name("alpha");
  attribute.set_type(1);
  attribute.set_ref_attr_name("alpha");
  const Model result = read(model);
  ASSERT_EQ(result.functions.size(), 1u);
  EXPECT_EQ(result.functions[0].nodes.at(0).attributes.at(0).reference, "alpha");
  *model.mutable_graph()->add_node() = node;
  EXPECT_TRUE(contains(errorOf(model), "in functions only"));
  model.mutable_graph()->clear_node();
  *model.add_functions() = function;
  EXPECT_TRUE(contains(errorOf(model), "two functions have the name 'f'"));
}

TEST(ReadModel, TensorsOutliveTheirBytes) {
  file::ModelProto model = makeModel();
  file::TensorProto &tensor = *model.mutable_graph()->add_initializer();
  tensor.set_name("w");
  tensor.set_data_type(1);
  tensor.add_dims(1000);
  tensor.set_raw_data(std::string(4000, 'x'));
  auto bytes = std::make_unique<std::string>(model.SerializeAsString());
  llvm::Expected<Model> result = readBytes(*bytes);
  ASSERT_TRUE(bool(result)) << llvm::toString(result.takeError());
  bytes.reset();
  const Model moved = std::move(*result);
  EXPECT_EQ(moved.graph.initializers.at(0).bytes.back(), 'x');
}

TEST(ReadModel, Versions) {
  for (int64_t version : {1, 28}) {
    file::ModelProto model = makeModel();
    model.mutable_opset_import(0)->set_version(version);
    EXPECT_EQ(errorOf(model), "");
  }
  for (int64_t version : {0, 29, -1}) {
    file::ModelProto model = makeModel();
    model.mutable_opset_import(0)->set_version(version);
    EXPECT_TRUE(
        contains(errorOf(model), "expected 1 to 28; convert it with onnx.version_converter"));
    // Other domains count as they like.
    model.mutable_opset_import(0)->set_domain("com.microsoft");
    EXPECT_EQ(errorOf(model), "");
  }
  for (int64_t version : {0, 2, 15}) {
    file::ModelProto model = makeModel();
    model.set_ir_version(version);
    EXPECT_TRUE(contains(errorOf(model), "m.onnx: is of ONNX's format "));
  }
}

TEST(ReadModel, ErrorsNameTheirPlace) {
  file::ModelProto model = makeModel();
  file::NodeProto &outer = *model.mutable_graph()->add_node();
  outer.set_op_type("If");
  outer.set_name("choice");
  file::AttributeProto &branch = *outer.add_attribute();
  branch.set_name("then_branch");
  branch.set_type(5);
  file::NodeProto &inner = *branch.mutable_g()->add_node();
  inner.add_output("y");
  EXPECT_EQ(errorOf(model), "m.onnx:y: a node has no op_type");
  inner.set_op_type("Constant");
  file::AttributeProto &value = *inner.add_attribute();
  value.set_name("value");
  value.set_type(4);
  value.mutable_t()->set_data_type(1);
  EXPECT_EQ(errorOf(model), "m.onnx:y:attribute 'value': a tensor has 0 numbers in float_data; its "
                            "shape and type take 1");
  *inner.add_attribute() = value;
  value.mutable_t()->add_float_data(1);
  *inner.mutable_attribute(1) = value;
  EXPECT_EQ(errorOf(model), "m.onnx:y: has the attribute 'value' twice");
}

TEST(ReadModel, FilesThatAreNone) {
  EXPECT_TRUE(contains(errorOf(std::string()), "m.onnx: is of ONNX's format 0"));
  EXPECT_TRUE(contains(errorOf(std::string("PK\3\4 this is a zip")), "is no ONNX model"));
  llvm::Expected<Model> missing = readModel("/nowhere/m.onnx");
  ASSERT_FALSE(bool(missing));
  EXPECT_TRUE(contains(llvm::toString(missing.takeError()), "/nowhere/m.onnx: cannot be read: "));
}
