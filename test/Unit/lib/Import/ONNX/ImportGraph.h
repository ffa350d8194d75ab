// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Graphs that tests build, and what their import gives.
#ifndef MPC_TEST_UNIT_IMPORT_ONNX_IMPORTGRAPH_H
#define MPC_TEST_UNIT_IMPORT_ONNX_IMPORTGRAPH_H

#include "dialects/mpc/IR/Mpc.h"
#include "mpc/Import/ONNX/Import.h"

#include "mlir/IR/Verifier.h"

#include <gtest/gtest.h>

namespace mpc::onnx {

/// A tensor whose bytes `storage` keeps.
template <typename T>
Tensor makeTensor(std::string name, DataType type, std::vector<int64_t> shape,
                  std::vector<T> values, std::vector<std::string> &storage) {
  storage.emplace_back(reinterpret_cast<const char *>(values.data()), values.size() * sizeof(T));
  Tensor tensor;
  tensor.name = std::move(name);
  tensor.type = type;
  tensor.shape = std::move(shape);
  tensor.bytes = llvm::ArrayRef<char>(storage.back().data(), storage.back().size());
  return tensor;
}

inline ValueInfo makeValue(std::string name, DataType type, std::vector<int64_t> shape) {
  ValueInfo value;
  value.name = std::move(name);
  value.type = Type();
  value.type->type = type;
  value.type->shape = std::vector<Extent>();
  for (int64_t extent : shape) {
    Extent each;
    if (extent >= 0)
      each.value = extent;
    else
      each.symbol = "n";
    value.type->shape->push_back(each);
  }
  return value;
}

inline Node makeNode(std::string op, std::vector<std::string> inputs,
                     std::vector<std::string> outputs, std::vector<Attribute> attributes = {},
                     std::string name = "") {
  Node node;
  node.op = std::move(op);
  node.inputs = std::move(inputs);
  node.outputs = std::move(outputs);
  node.attributes = std::move(attributes);
  node.name = std::move(name);
  return node;
}

template <typename T> Attribute makeAttribute(std::string name, T value) {
  Attribute attribute;
  attribute.name = std::move(name);
  attribute.value = std::move(value);
  return attribute;
}

class ImportGraphTest : public ::testing::Test {
protected:
  ImportGraphTest() {
    storage.reserve(100); // tensors point into it
    model.opsets.push_back({"", 18});
  }

  /// x [n, 4] times a weight of [4, 3], y.
  void makeProduct(DataType type = DataType::Float) {
    model.graph.inputs.push_back(makeValue("x", type, {-1, 4}));
    if (type == DataType::Float16)
      model.graph.initializers.push_back(
          makeTensor<uint16_t>("w", type, {4, 3}, std::vector<uint16_t>(12, 0x3c00), storage));
    else
      model.graph.initializers.push_back(
          makeTensor<float>("w", type, {4, 3}, std::vector<float>(12, 1.0f), storage));
    model.graph.nodes.push_back(makeNode("MatMul", {"x", "w"}, {"y"}, {}, "dense"));
    model.graph.outputs.push_back(makeValue("y", type, {-1, 3}));
  }

  /// The errors' text, or "".
  std::string import() {
    auto read = importOnnx(model, "m.onnx", options, context);
    if (!read)
      return llvm::toString(read.takeError());
    imported = std::move(*read);
    EXPECT_TRUE(succeeded(mlir::verify(*imported.module)));
    return "";
  }

  mpc::LayerOp findLayer(llvm::StringRef path) {
    mpc::LayerOp found;
    imported.module->walk([&](mpc::LayerOp layer) {
      if (layer.getPath() == path)
        found = layer;
    });
    return found;
  }
  mpc::VariableOp findVariable(llvm::StringRef name) {
    return imported.module->lookupSymbol<mpc::VariableOp>(name);
  }

  std::vector<std::string> storage;
  Model model;
  ImportOptions options;
  mlir::MLIRContext context;
  ImportedModel imported;
};

} // namespace mpc::onnx

#endif
