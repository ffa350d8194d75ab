// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Import/ONNX/Forms/Contributed.h"
#include "lib/Import/ONNX/Forms/GraphIndex.h"

#include <set>

namespace mpc::onnx {

/// Calls `read` with each name that the node and the graphs inside of it read.
static void forReads(const Node &node, llvm::function_ref<void(llvm::StringRef)> read) {
  for (const std::string &input : node.inputs)
    read(input);
  forInnerGraphs(node, [&](const Graph &inner) {
    for (const ValueInfo &output : inner.outputs)
      read(output.name);
    for (const Node &each : inner.nodes)
      forReads(each, read);
  });
}

void sortNodes(Graph &graph) {
  llvm::StringMap<size_t> makers;
  for (const auto &[number, node] : llvm::enumerate(graph.nodes))
    for (const std::string &output : node.outputs)
      if (!output.empty())
        makers.try_emplace(output, number);
  std::vector<std::vector<size_t>> readers(graph.nodes.size());
  std::vector<size_t> waits(graph.nodes.size());
  bool isSorted = true;
  for (const auto &[number, node] : llvm::enumerate(graph.nodes))
    forReads(node, [&, number = number](llvm::StringRef name) {
      auto maker = makers.find(name);
      if (maker == makers.end())
        return;
      readers[maker->second].push_back(number);
      ++waits[number];
      isSorted &= maker->second < number;
    });
  if (isSorted)
    return;
  std::set<size_t> ready; // of those that can compute, the first of the file does
  for (size_t number = 0; number < waits.size(); ++number)
    if (waits[number] == 0)
      ready.insert(number);
  std::vector<size_t> order;
  while (!ready.empty()) {
    const size_t number = *ready.begin();
    ready.erase(ready.begin());
    order.push_back(number);
    for (size_t reader : readers[number])
      if (--waits[reader] == 0)
        ready.insert(reader);
  }
  if (order.size() != graph.nodes.size())
    return; // a circle, which the importer refuses
  std::vector<Node> nodes;
  for (size_t number : order)
    nodes.push_back(std::move(graph.nodes[number]));
  graph.nodes = std::move(nodes);
}

} // namespace mpc::onnx
