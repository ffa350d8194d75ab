// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The meaning of a name of the graph while it is imported.
#ifndef MPC_LIB_IMPORT_ONNX_NODEVALUE_H
#define MPC_LIB_IMPORT_ONNX_NODEVALUE_H

#include "dialects/mpc/IR/Mpc.h"
#include "lib/Import/Common/BatchPlace.h"
#include "lib/Import/ONNX/BoundFlow.h"
#include "lib/Import/ONNX/Literal.h"

#include "llvm/ADT/StringMap.h"

#include <memory>
#include <vector>

namespace mpc::onnx {

/// A sequence has known elements, or a known number of them alone, for one reason or the other.
enum class KnownElements { all, countOfUnknownSizes, countOfOpenBatch };

struct NodeValue {
  DataType type = DataType::Undefined;
  /// In @forward; null where only `literal` or `elements` says what it is.
  mlir::Value value;
  /// Where the tensor of the file, for which `value` stands, has the open batch.
  BatchPlace place;
  /// A dimension of which only a part, that a value counts, is the tensor's.
  std::optional<BoundedDimension> bound;
  std::shared_ptr<const Literal> literal;
  /// A sequence, or an optional of none or one element; null for tensors.
  std::shared_ptr<const std::vector<NodeValue>> elements;
  bool isOptional = false;
  /// Not of all: `elements` has as many as the sequence, and none can be read.
  KnownElements known = KnownElements::all;
  /// The initializer that is a variable: its number among them, and what the file holds.
  std::optional<unsigned> variable;

  static NodeValue fromLiteral(Literal literal) {
    NodeValue value;
    value.type = literal.type;
    value.literal = std::make_shared<const Literal>(std::move(literal));
    return value;
  }

  /// An error left it out: what reads it says nothing more.
  bool isLost() const { return !value && !literal && !elements && !variable; }

  /// The tensor's; of a bounded dimension the largest extent.
  llvm::SmallVector<int64_t> getShape() const {
    if (value && !place.isFirst())
      return place.restore(tensorTypeOf(value).getShape());
    if (value)
      return llvm::SmallVector<int64_t>(tensorTypeOf(value).getShape());
    return literal ? llvm::SmallVector<int64_t>(literal->tensor.shape)
                   : llvm::SmallVector<int64_t>();
  }
};

/// The names of a graph or of a function's body, and of the graphs around it.
class Scope {
public:
  explicit Scope(const Scope *outer = nullptr) : outer(outer) {}

  void set(llvm::StringRef name, NodeValue value) { values[name] = std::move(value); }
  /// Null where there is none.
  const NodeValue *find(llvm::StringRef name) const {
    for (const Scope *scope = this; scope; scope = scope->outer)
      if (auto found = scope->values.find(name); found != scope->values.end())
        return &found->second;
    return nullptr;
  }

private:
  const Scope *outer;
  llvm::StringMap<NodeValue> values;
};

} // namespace mpc::onnx

#endif
