// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Import/ONNX/Forms/RestoreForms.h"

#include "llvm/ADT/StringExtras.h"

namespace mpc::onnx {

Node makeForm(const Node &last, llvm::StringRef op, int64_t opset,
              std::vector<std::string> inputs) {
  Node node;
  node.name = last.name;
  node.op = op.str();
  node.opset = opset;
  node.inputs = std::move(inputs);
  node.outputs = {last.outputs.front()};
  return node;
}

template <typename T> static void set(Node &node, llvm::StringRef name, T value) {
  Attribute &attribute = node.attributes.emplace_back();
  attribute.name = name.str();
  attribute.value = std::move(value);
}

void setAttribute(Node &node, llvm::StringRef name, float value) { set(node, name, value); }
void setAttribute(Node &node, llvm::StringRef name, int64_t value) { set(node, name, value); }
void setAttribute(Node &node, llvm::StringRef name, llvm::StringRef value) {
  set(node, name, value.str());
}

/// The names of nodes as users know them.
static std::string listNodes(llvm::ArrayRef<const Node *> nodes) {
  std::vector<std::string> names;
  for (const Node *node : nodes)
    names.push_back(node->op + " '" + (node->name.empty() ? node->outputs.front() : node->name) +
                    "'");
  return llvm::join(names, ", ");
}

/// Those of ONNX with one result that still stand.
static void forNodes(const GraphIndex &index, llvm::function_ref<void(const Node &)> look) {
  for (const Node &node : index.getNodes())
    if (node.domain.empty() && node.outputs.size() == 1 && !node.outputs.front().empty() &&
        !index.isGone(node))
      look(node);
}

std::vector<RestoredForm> restoreForms(Graph &graph,
                                       llvm::function_ref<bool(llvm::StringRef)> trains) {
  GraphIndex index(graph, trains);
  std::vector<RestoredForm> restored;
  const auto take = [&](const Node &last, FoundForm form) {
    if (form.made.empty())
      return;
    const std::string path = last.name.empty() ? last.outputs.front() : last.name;
    restored.push_back({path, form.made.front().op + " of " + listNodes(form.parts)});
    index.replace(last, std::move(form.made), form.parts);
  };
  // Nodes that are quantized again go first: their products are among the others.
  for (auto find :
       {findLayerNormalization, findRMSNormalization, findGelu, findSwish, findAttention})
    forNodes(index, [&](const Node &node) { take(node, find(index, node)); });
  for (auto find : {findQuantized, findDequantizedProduct})
    forNodes(index, [&](const Node &node) { take(node, find(index, node)); });
  index.apply();
  return restored;
}

} // namespace mpc::onnx
