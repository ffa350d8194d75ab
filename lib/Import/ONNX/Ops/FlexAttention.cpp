// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// ONNX's FlexAttention as the nodes that its specification expresses it by, with the graphs that
// change logits and probabilities between them.
#include "lib/Import/ONNX/Forms/RestoreForms.h"
#include "lib/Import/ONNX/GraphImporter.h"
#include "lib/Import/ONNX/NodeAttributes.h"

#include "mlir/IR/BuiltinTypes.h"

#include <cmath>

namespace mpc::onnx {
namespace {

/// The opset that defines the nodes.
constexpr int64_t kOpset = 18;

using Extents = llvm::SmallVector<int64_t>;

/// Nodes that follow each other, each with the value of the one before as an input.
class Steps {
public:
  Steps(GraphImporter &importer, const Scope &scope, llvm::StringRef path)
      : importer(importer), inner(&scope), path(path.str()) {}

  void bind(llvm::StringRef name, NodeValue value) { inner.set(name, std::move(value)); }
  void bindIntegers(llvm::StringRef name, llvm::ArrayRef<int64_t> values) {
    Literal literal =
        Literal::fromIntegers(importer.forward.builder, {int64_t(values.size())}, values);
    NodeValue value;
    value.type = literal.type;
    value.literal = std::make_shared<const Literal>(std::move(literal));
    bind(name, std::move(value));
  }
  void bindNumber(llvm::StringRef name, double number, DataType type) {
    mlir::Builder &builder = importer.forward.builder;
    Literal literal;
    literal.type = type;
    literal.tensor.elementType = nominalType(builder, type);
    literal.tensor.floats = {roundTo(floatType(builder, type), number)};
    NodeValue value;
    value.type = type;
    value.literal = std::make_shared<const Literal>(std::move(literal));
    bind(name, std::move(value));
  }

  /// `result` is what the operation makes of the inputs; a cast to `type`, where that is given.
  void add(llvm::StringRef op, std::vector<std::string> inputs, llvm::StringRef result,
           DataType type = DataType::Undefined) {
    Node last;
    last.outputs = {result.str()};
    graph.nodes.push_back(makeForm(last, op, kOpset, std::move(inputs)));
    if (type != DataType::Undefined)
      setAttribute(graph.nodes.back(), "to", int64_t(type));
  }
  Node &last() { return graph.nodes.back(); }

  /// The value of `result` after all nodes; nothing after an error.
  std::optional<NodeValue> run(llvm::StringRef result) {
    graph.outputs.resize(1);
    graph.outputs.front().name = result.str();
    llvm::SmallVector<NodeValue> outputs;
    if (!importer.importSubgraph(graph, inner, path, outputs))
      return std::nullopt;
    graph.nodes.clear();
    return outputs.front();
  }

private:
  GraphImporter &importer;
  Scope inner;
  Graph graph;
  const std::string path;
};

/// The value after the graph; the value itself where there is none. Nothing after an error.
std::optional<NodeValue> change(GraphImporter &importer, const Graph *graph, const Scope &scope,
                                const NodeValue &value, llvm::StringRef path) {
  if (!graph)
    return value;
  if (graph->inputs.size() != 1 || graph->outputs.size() != 1) {
    importer.error(path, "FlexAttention: has a graph with other than one input and one output");
    return std::nullopt;
  }
  Scope inner(&scope);
  inner.set(graph->inputs.front().name, value);
  llvm::SmallVector<NodeValue> outputs;
  if (!importer.importSubgraph(*graph, inner, path, outputs))
    return std::nullopt;
  return outputs.front();
}

bool flexAttention(GraphImporter &importer, const Node &node, Scope &scope, llvm::StringRef path,
                   const NodeAttributes &attributes) {
  const NodeValue *inputs[3];
  Extents shapes[3];
  for (unsigned i = 0; i < 3; ++i) {
    inputs[i] = importer.read(node, i, scope, path);
    if (!inputs[i] || inputs[i]->elements)
      return false;
    shapes[i] = importer.getShape(*inputs[i]);
  }
  const auto &[query, key, value] = shapes;
  if (query.size() != 4 || key.size() != 4 || value.size() != 4 || key[1] < 1 || query[3] < 1 ||
      query[1] % key[1] || value[1] != key[1] || !isFloating(inputs[0]->type)) {
    importer.error(path, "FlexAttention: takes floating queries, keys and values [batch, heads, "
                         "steps, width], the heads of queries a multiple of the others'");
    return false;
  }
  const DataType type = inputs[0]->type,
                 wide = static_cast<DataType>(attributes.getInteger(
                     "softmax_precision",
                     int64_t(type == DataType::Double ? type : DataType::Float)));
  const double scale = attributes.getNumber("scale", 1 / std::sqrt(double(query[3])));
  Steps steps(importer, scope, path);
  steps.bind("q", *inputs[0]);
  steps.bind("k", *inputs[1]);
  steps.bind("v", *inputs[2]);
  steps.bindNumber("root", std::sqrt(scale), type);
  std::string names[] = {"k", "v"};
  if (const int64_t group = query[1] / key[1]; group > 1)
    for (unsigned i = 0; i < 2; ++i) {
      const Extents &shape = shapes[i + 1];
      std::string &name = names[i];
      steps.bindIntegers(name + ".rows", {0, shape[1], 1, shape[2] * shape[3]});
      steps.bindIntegers(name + ".spread", {1, 1, group, 1});
      steps.bindIntegers(name + ".heads", {0, query[1], shape[2], shape[3]});
      steps.add("Reshape", {name, name + ".rows"}, name + ".1");
      steps.add("Expand", {name + ".1", name + ".spread"}, name + ".2");
      steps.add("Reshape", {name + ".2", name + ".heads"}, name + ".3");
      name += ".3";
    }
  steps.add("Mul", {"q", "root"}, "q.scaled");
  steps.add("Mul", {names[0], "root"}, "k.scaled");
  steps.add("Transpose", {"k.scaled"}, "k.transposed");
  Attribute &order = steps.last().attributes.emplace_back();
  order.name = "perm";
  order.value = std::vector<int64_t>{0, 1, 3, 2};
  steps.add("MatMul", {"q.scaled", "k.transposed"}, "products");
  steps.add("Cast", {"products"}, "scores", wide);
  auto scores = steps.run("scores");
  if (scores)
    scores = change(importer, attributes.getGraph("score_mod"), scope, *scores, path);
  if (!scores)
    return false;
  steps.bind("changed", std::move(*scores));
  steps.add("Softmax", {"changed"}, "shares");
  setAttribute(steps.last(), "axis", int64_t(3));
  auto shares = steps.run("shares");
  if (shares)
    shares = change(importer, attributes.getGraph("prob_mod"), scope, *shares, path);
  if (!shares)
    return false;
  steps.bind("weights", std::move(*shares));
  steps.add("Cast", {names[1]}, "v.wide", wide);
  steps.add("MatMul", {"weights", "v.wide"}, "y.wide");
  steps.add("Cast", {"y.wide"}, "y", type);
  auto y = steps.run("y");
  if (y)
    importer.setOutput(node, 0, scope, std::move(*y));
  return y.has_value();
}

constexpr OpEntry kTable[] = {
    {"FlexAttention", 1, nullptr, flexAttention, OpenBatch::first, "ai.onnx.preview"},
};

} // namespace

llvm::ArrayRef<OpEntry> getFlexAttentionOps() { return kTable; }

} // namespace mpc::onnx
