// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The attributes of a node by name and kind.
#ifndef MPC_LIB_IMPORT_ONNX_NODEATTRIBUTES_H
#define MPC_LIB_IMPORT_ONNX_NODEATTRIBUTES_H

#include "mpc/Import/ONNX/Model.h"

#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/SmallVector.h"

namespace mpc::onnx {

class NodeAttributes {
public:
  explicit NodeAttributes(const Node &node) : node(node) {}

  /// Whether the node says it; what it says counts as read only where it is asked for.
  bool has(llvm::StringRef name) const { return find(name); }
  /// The importer knows it, and it changes nothing in this node.
  void ignore(llvm::StringRef name) const { read.insert(find(name)); }
  /// Those that nobody has asked for by their kind, and that say no default of ONNX.
  llvm::SmallVector<llvm::StringRef> getUnread() const;
  /// `otherwise` where the attribute is missing or of another kind, which then counts as unread.
  int64_t getInteger(llvm::StringRef name, int64_t otherwise) const;
  bool getFlag(llvm::StringRef name, bool otherwise = false) const {
    return getInteger(name, otherwise) != 0;
  }
  double getNumber(llvm::StringRef name, double otherwise) const;
  llvm::StringRef getText(llvm::StringRef name, llvm::StringRef otherwise = "") const;
  llvm::SmallVector<int64_t> getIntegers(llvm::StringRef name) const;
  llvm::SmallVector<double> getNumbers(llvm::StringRef name) const;
  llvm::ArrayRef<std::string> getTexts(llvm::StringRef name) const;
  const Tensor *getTensor(llvm::StringRef name) const;
  const Graph *getGraph(llvm::StringRef name) const;

private:
  const Attribute *find(llvm::StringRef name) const;
  template <typename T> const T *get(llvm::StringRef name) const;

  const Node &node;
  mutable llvm::SmallPtrSet<const Attribute *, 8> read;
};

} // namespace mpc::onnx

#endif
