// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Layers that stand for a part of what an operation on values of the graph does: one element of a
// tensor along an axis, several tensors as one, one of two.
#ifndef MPC_LIB_IMPORT_ONNX_OPS_PIECES_H
#define MPC_LIB_IMPORT_ONNX_OPS_PIECES_H

#include "lib/Import/ONNX/GraphImporter.h"

namespace mpc::onnx {

class Pieces {
public:
  /// Layers are named below `path`, of the kind `kind`.
  Pieces(GraphImporter &importer, llvm::StringRef path, llvm::StringRef kind)
      : importer(importer), path(path.str()), kind(kind.str()) {}

  // Each is nothing after an error.

  /// `count` elements from `first` on; with `drops` the axis, of one element, is dropped.
  std::optional<NodeValue> slice(const NodeValue &x, int64_t axis, int64_t first, int64_t count,
                                 bool drops);
  /// Along `axis`; with `isNew` it is a new one.
  std::optional<NodeValue> join(llvm::ArrayRef<NodeValue> parts, int64_t axis, bool isNew);
  std::optional<NodeValue> select(const NodeValue &condition, const NodeValue &onTrue,
                                  const NodeValue &onFalse);

  /// A floating value where the condition is `wanted`, else NaN.
  std::optional<NodeValue> require(const NodeValue &condition, bool wanted, const NodeValue &value);

  /// A known number of int64, or truth value.
  NodeValue makeInteger(int64_t value) const;
  NodeValue makeTruth(bool value) const;

private:
  std::optional<NodeValue> emit(const OpEntry &entry, llvm::ArrayRef<NodeValue> inputs,
                                llvm::ArrayRef<std::pair<llvm::StringRef, int64_t>> attributes);

  GraphImporter &importer;
  const std::string path, kind;
};

/// The single number or truth value of a constant; nothing where it is not known.
std::optional<int64_t> findNumber(GraphImporter &importer, const NodeValue &value);

} // namespace mpc::onnx

#endif
