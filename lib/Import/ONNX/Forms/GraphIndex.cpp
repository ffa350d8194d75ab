// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Import/ONNX/Forms/GraphIndex.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <cstring>

namespace mpc::onnx {

GraphIndex::GraphIndex(Graph &graph, llvm::function_ref<bool(llvm::StringRef)> trains)
    : graph(graph), trains(trains) {
  graph.initializers.reserve(graph.initializers.size() + std::size(zeros)); // they stay in place
  for (const Tensor &tensor : graph.initializers)
    constants[tensor.name] = &tensor;
  for (const Node &node : graph.nodes) {
    for (const std::string &output : node.outputs)
      if (!output.empty())
        makers[output] = &node;
    if (node.op == "Constant" && node.domain.empty() && node.outputs.size() == 1)
      for (const Attribute &attribute : node.attributes)
        if (const auto *tensor = std::get_if<Tensor>(&attribute.value))
          constants[node.outputs.front()] = tensor;
  }
  countReads(graph, /*isInner=*/false);
}

/// Graphs inside of nodes read values around them.
void GraphIndex::countReads(const Graph &inner, bool isInner) {
  for (const ValueInfo &output : inner.outputs)
    readers[output.name].first += 2;
  for (const Node &node : inner.nodes) {
    for (const std::string &input : node.inputs) {
      auto &[count, reader] = readers[input];
      count += isInner ? 2 : 1;
      reader = &node;
    }
    forInnerGraphs(node, [&](const Graph &each) { countReads(each, true); });
  }
}

const Node *GraphIndex::findMaker(llvm::StringRef value, llvm::StringRef op) const {
  const Node *node = makers.lookup(value);
  return node && node->op == op && node->domain.empty() && !isGone(*node) &&
                 !node->inputs.empty() && node->outputs.front() == value
             ? node
             : nullptr;
}

const Node *GraphIndex::findOnlyReader(llvm::StringRef value) const {
  const auto &[count, reader] = readers.lookup(value);
  return count == 1 && !isGone(*reader) ? reader : nullptr;
}

const Tensor *GraphIndex::findConstant(llvm::StringRef value) const {
  return constants.lookup(value);
}

template <typename T>
static std::optional<llvm::SmallVector<double>> readNumbers(llvm::ArrayRef<char> bytes) {
  llvm::SmallVector<double> numbers;
  for (; bytes.size() >= sizeof(T); bytes = bytes.drop_front(sizeof(T))) {
    T number;
    std::memcpy(&number, bytes.data(), sizeof(T));
    numbers.push_back(double(number));
  }
  return numbers;
}

std::optional<llvm::SmallVector<double>> GraphIndex::findNumbers(llvm::StringRef value) const {
  constexpr size_t mostBytes = 1 << 20; // scales and zero points, not weights
  const Tensor *tensor = findConstant(value);
  if (!tensor || tensor->bytes.size() > mostBytes || trains(value))
    return std::nullopt;
  switch (tensor->type) {
  case DataType::Float:
    return readNumbers<float>(tensor->bytes);
  case DataType::Double:
    return readNumbers<double>(tensor->bytes);
  case DataType::Int64:
    return readNumbers<int64_t>(tensor->bytes);
  case DataType::Int32:
    return readNumbers<int32_t>(tensor->bytes);
  case DataType::UInt8:
    return readNumbers<uint8_t>(tensor->bytes);
  case DataType::Int8:
    return readNumbers<int8_t>(tensor->bytes);
  default:
    return std::nullopt;
  }
}

std::optional<double> GraphIndex::findNumber(llvm::StringRef value) const {
  const auto numbers = findNumbers(value);
  return numbers && numbers->size() == 1 ? std::optional(numbers->front()) : std::nullopt;
}

bool GraphIndex::isNumber(llvm::StringRef value, double number) const {
  const std::optional<double> found = findNumber(value);
  return found && findConstant(value)->shape.size() <= 1 &&
         std::abs(*found - number) <= 1e-6 * std::abs(number);
}

void GraphIndex::replace(const Node &last, std::vector<Node> made,
                         llvm::ArrayRef<const Node *> parts) {
  for (Node &node : made)
    for (const std::string &input : node.inputs)
      ++readers[input].first;
  for (const std::string &input : last.inputs)
    --readers[input].first;
  replaced[&last] = std::move(made);
  // From the last to the first: what one of them read may be read no more.
  llvm::SmallVector<const Node *> sorted(parts.begin(), parts.end());
  llvm::sort(sorted, std::greater<>());
  for (const Node *part : sorted) {
    if (removed.contains(part) || replaced.contains(part) ||
        llvm::any_of(part->outputs,
                     [&](const std::string &output) { return readers.lookup(output).first > 0; }))
      continue;
    removed.insert(part);
    for (const std::string &input : part->inputs)
      --readers[input].first;
  }
}

std::string GraphIndex::makeZero(DataType type) {
  static constexpr char zero[1] = {};
  std::string &name = zeros[type == DataType::UInt8];
  if (!name.empty())
    return name;
  name = type == DataType::UInt8 ? "zero.uint8" : "zero.int8";
  while (constants.contains(name) || makers.contains(name) ||
         llvm::any_of(graph.inputs, [&](const ValueInfo &input) { return input.name == name; }))
    name += "_";
  Tensor &tensor = graph.initializers.emplace_back();
  tensor.name = name;
  tensor.type = type;
  tensor.bytes = zero;
  constants[name] = &tensor;
  return name;
}

void GraphIndex::apply() {
  std::vector<Node> nodes;
  for (Node &node : graph.nodes) {
    if (auto made = replaced.find(&node); made != replaced.end())
      llvm::append_range(nodes, std::move(made->second));
    else if (!removed.contains(&node))
      nodes.push_back(std::move(node));
  }
  graph.nodes = std::move(nodes);
}

void forInnerGraphs(const Node &node, llvm::function_ref<void(const Graph &)> look) {
  for (const Attribute &attribute : node.attributes) {
    if (const auto *one = std::get_if<std::shared_ptr<Graph>>(&attribute.value))
      look(**one);
    if (const auto *several = std::get_if<std::vector<std::shared_ptr<Graph>>>(&attribute.value))
      for (const std::shared_ptr<Graph> &each : *several)
        look(*each);
  }
}

llvm::StringRef otherOperand(const Node &node, llvm::StringRef one) {
  if (node.inputs.size() != 2 || (node.inputs[0] == one) == (node.inputs[1] == one))
    return {};
  return node.inputs[node.inputs[0] == one];
}

int64_t integerOf(const Node &node, llvm::StringRef name, int64_t otherwise) {
  for (const Attribute &attribute : node.attributes)
    if (attribute.name == name)
      if (const auto *value = std::get_if<int64_t>(&attribute.value))
        return *value;
  return otherwise;
}

bool hasOnly(const Node &node, llvm::ArrayRef<llvm::StringRef> names) {
  return llvm::all_of(node.attributes, [&](const Attribute &attribute) {
    return llvm::is_contained(names, attribute.name);
  });
}

} // namespace mpc::onnx
