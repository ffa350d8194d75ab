// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Who computes and who reads each value of a graph, and the nodes that take the place of others.
#ifndef MPC_LIB_IMPORT_ONNX_FORMS_GRAPHINDEX_H
#define MPC_LIB_IMPORT_ONNX_FORMS_GRAPHINDEX_H

#include "mpc/Import/ONNX/Model.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringMap.h"

namespace mpc::onnx {

class GraphIndex {
public:
  /// `trains`: whether an initializer is to train, so that its number is not known.
  GraphIndex(Graph &graph, llvm::function_ref<bool(llvm::StringRef)> trains);

  llvm::ArrayRef<Node> getNodes() const { return graph.nodes; }

  /// ONNX's own node of this operation that computes the value; null where there is none, or
  /// something else does.
  const Node *findMaker(llvm::StringRef value, llvm::StringRef op) const;
  /// The node that alone reads the value, which is no output of the graph; else null.
  const Node *findOnlyReader(llvm::StringRef value) const;
  /// A tensor that is an initializer or the value of a Constant; else null.
  const Tensor *findConstant(llvm::StringRef value) const;
  /// The numbers of a small constant.
  std::optional<llvm::SmallVector<double>> findNumbers(llvm::StringRef value) const;
  /// The one number of a constant.
  std::optional<double> findNumber(llvm::StringRef value) const;
  /// Whether it is that number in float32, and of a shape that changes none that it meets.
  bool isNumber(llvm::StringRef value, double number) const;

  /// `made` takes the place of `last`; of the nodes `parts`, which lead to it, those go that nobody
  /// reads any more.
  void replace(const Node &last, std::vector<Node> made, llvm::ArrayRef<const Node *> parts);
  /// Whether another node stands in its place, or none does.
  bool isGone(const Node &node) const {
    return replaced.contains(&node) || removed.contains(&node);
  }
  /// A constant of one number of 8 bits, 0.
  std::string makeZero(DataType type);
  /// Gives the graph the nodes that replaced others.
  void apply();

private:
  void countReads(const Graph &inner, bool isInner);

  Graph &graph;
  llvm::function_ref<bool(llvm::StringRef)> trains;
  llvm::StringMap<const Node *> makers;
  llvm::StringMap<std::pair<unsigned, const Node *>> readers; ///< how many reads, by whom the last
  llvm::StringMap<const Tensor *> constants;
  llvm::DenseMap<const Node *, std::vector<Node>> replaced;
  llvm::DenseSet<const Node *> removed;
  std::string zeros[2]; ///< names of zeros of int8 and uint8
};

/// Calls `look` with each graph inside of the node.
void forInnerGraphs(const Node &node, llvm::function_ref<void(const Graph &)> look);

/// The operand of a node of two that is not `one`; empty where neither or both are.
llvm::StringRef otherOperand(const Node &node, llvm::StringRef one);

/// An attribute's integer; `otherwise` where the node has none.
int64_t integerOf(const Node &node, llvm::StringRef name, int64_t otherwise);
/// Whether the node has only attributes of these names.
bool hasOnly(const Node &node, llvm::ArrayRef<llvm::StringRef> names);

} // namespace mpc::onnx

#endif
