// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Files that want more than the reader gives: depth, counts, names, memory, and damage anywhere.
#include "test/Unit/lib/Import/ONNX/ModelBytes.h"

#include <gtest/gtest.h>

using namespace mpc::onnx;

namespace {

bool contains(const std::string &text, const char *part) {
  return text.find(part) != std::string::npos;
}

/// `content` as field `number` of a message.
std::string field(unsigned number, const std::string &content) {
  std::string out;
  for (uint64_t value : {uint64_t{number} << 3 | 2, uint64_t{content.size()}}) {
    for (; value >= 128; value >>= 7)
      out += char(value | 128);
    out += char(value);
  }
  return out + content;
}

file::ModelProto nestGraphs(unsigned depth) {
  file::ModelProto model = makeModel();
  file::GraphProto *graph = model.mutable_graph();
  for (unsigned i = 0; i < depth; ++i) {
    file::NodeProto &node = *graph->add_node();
    node.set_op_type("If");
    file::AttributeProto &attribute = *node.add_attribute();
    attribute.set_name("a");
    attribute.set_type(5);
    graph = attribute.mutable_g();
  }
  return model;
}

} // namespace

TEST(HostileModel, NestedGraphs) {
  EXPECT_EQ(errorOf(nestGraphs(23)), "");
  EXPECT_TRUE(contains(errorOf(nestGraphs(26)), "graphs are nested deeper than 24 levels"));
  EXPECT_TRUE(contains(errorOf(nestGraphs(60)), "nested deeper than 100 levels"));
  // Types by the thousand, a few bytes each.
  std::string type;
  for (int i = 0; i < 20'000; ++i)
    type = field(4, field(1, type));
  const std::string model = field(7, field(11, field(2, type)));
  EXPECT_TRUE(contains(errorOf(model), "nested deeper than 100 levels"));
}

TEST(HostileModel, NestedTypes) {
  file::ModelProto model = makeModel();
  file::TypeProto *type = model.mutable_graph()->add_input()->mutable_type();
  for (int i = 0; i < 30; ++i)
    type = type->mutable_sequence_type()->mutable_elem_type();
  EXPECT_TRUE(contains(errorOf(model), "types are nested deeper than 24 levels"));
}

TEST(HostileModel, Counts) {
  ReadLimits limits;
  limits.parts = 10;
  file::ModelProto model = makeModel();
  for (int i = 0; i < 5; ++i)
    model.mutable_graph()->add_node()->set_op_type("Relu");
  EXPECT_EQ(errorOf(model, "", limits), "");
  for (int i = 0; i < 5; ++i)
    model.mutable_graph()->add_node()->set_op_type("Relu");
  EXPECT_TRUE(contains(errorOf(model, "", limits), "the model has more than 10 nodes"));
  model.mutable_graph()->clear_node();
  for (int i = 0; i < 10; ++i)
    model.mutable_graph()->add_initializer();
  EXPECT_TRUE(contains(errorOf(model, "", limits), "the model has more than 10 nodes"));
  model.mutable_graph()->clear_initializer();
  file::NodeProto &node = *model.mutable_graph()->add_node();
  node.set_op_type("Concat");
  for (int i = 0; i < 10; ++i)
    node.add_input("x");
  EXPECT_TRUE(contains(errorOf(model, "", limits), "the model has more than 10 nodes"));
}

TEST(HostileModel, MessagesThatTakeMoreThanTheirBytes) {
  // Ten million nodes of two bytes, each of which is hundreds in memory.
  std::string nodes;
  for (int i = 0; i < 10'000'000; ++i)
    nodes += std::string("\x0a\0", 2);
  const std::string bytes = std::string("\x08\x0a", 2) + field(7, nodes);
  EXPECT_TRUE(contains(errorOf(bytes), "damaged ONNX model: its parser crashed"));
}

TEST(HostileModel, Names) {
  ReadLimits limits;
  file::ModelProto model = makeModel();
  file::NodeProto &node = *model.mutable_graph()->add_node();
  node.set_op_type("Relu");
  node.set_name(std::string(65'537, 'a'));
  EXPECT_TRUE(contains(errorOf(model), "a name has 65537 bytes"));
  node.set_name("\xff");
  EXPECT_TRUE(contains(errorOf(model), "a name is no UTF-8"));
  node.set_name("a");
  limits.allNameBytes = 5;
  EXPECT_TRUE(contains(errorOf(model, "", limits), "all names together"));
}

TEST(HostileModel, FileLimit) {
  ReadLimits limits;
  limits.fileBytes = 8;
  EXPECT_TRUE(contains(errorOf(makeModel(), "", limits), "expected at most 8 bytes"));
}

TEST(HostileModel, CutAnywhere) {
  file::ModelProto model = nestGraphs(3);
  file::TensorProto &tensor = *model.mutable_graph()->add_initializer();
  tensor.set_name("w");
  tensor.set_data_type(1);
  tensor.add_dims(2);
  tensor.add_float_data(1);
  tensor.add_float_data(2);
  const std::string bytes = model.SerializeAsString();
  ASSERT_EQ(errorOf(bytes), "");
  const ReadLimits limits;
  unsigned refused = 0;
  for (size_t size = 0; size < bytes.size(); ++size) {
    llvm::Expected<Model> result = readModel({bytes.data(), size}, "m", "", limits, Trial::None);
    refused += !result;
    if (!result)
      llvm::consumeError(result.takeError());
  }
  // A message may end between two of its fields.
  EXPECT_GT(refused, bytes.size() - 10);
}

TEST(HostileModel, EveryByteChanged) {
  file::ModelProto model = nestGraphs(3);
  file::TensorProto &tensor = *model.mutable_graph()->add_initializer();
  tensor.set_name("w");
  tensor.set_data_type(22);
  tensor.add_dims(3);
  tensor.add_int32_data(1);
  tensor.add_int32_data(2);
  const std::string bytes = model.SerializeAsString();
  const ReadLimits limits;
  unsigned read = 0;
  for (size_t i = 0; i < bytes.size(); ++i)
    for (int value = 0; value < 256; ++value) {
      std::string changed = bytes;
      changed[i] = char(value);
      llvm::Expected<Model> result =
          readModel({changed.data(), changed.size()}, "m", "", limits, Trial::None);
      read += bool(result);
      if (!result)
        llvm::consumeError(result.takeError());
    }
  EXPECT_GE(read, bytes.size());
}
