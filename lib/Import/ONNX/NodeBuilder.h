// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The function of an operation sees this: a node, its inputs inside the body of an mpc.layer, how
// it makes values, and where its results go.
#ifndef MPC_LIB_IMPORT_ONNX_NODEBUILDER_H
#define MPC_LIB_IMPORT_ONNX_NODEBUILDER_H

#include "lib/Import/ONNX/NodeInputs.h"

namespace mpc::onnx {

class NodeBuilder : public NodeInputs {
public:
  NodeBuilder(GraphImporter &importer, const Node &node, llvm::StringRef path, int64_t opset,
              llvm::ArrayRef<const NodeValue *> inputs, mlir::Block &body)
      : NodeInputs(importer, node, path, opset, inputs, body), results(node.outputs.size()) {}

  // ---- Axes -----------------------------------------------------------------------------------

  /// `axis` counted from the front; nothing after an error.
  std::optional<int64_t> resolveAxis(int64_t axis, int64_t rank);
  /// The same of several, in ascending order, none twice.
  std::optional<llvm::SmallVector<int64_t>> resolveAxes(llvm::ArrayRef<int64_t> axes, int64_t rank);

  /// Whether the shapes broadcast as NumPy's; false after an error.
  bool checkBroadcast(llvm::ArrayRef<mlir::Value> values);

  // ---- Values ---------------------------------------------------------------------------------

  using NodeInputs::makeLiteral;
  static bool isFloat(mlir::Value value) {
    return mlir::isa<mlir::FloatType>(elementTypeOf(value));
  }
  /// No policy of an option replaces the file's types.
  bool keepsTypes() const;
  /// An input of the model whose first extent is the open batch; null where there is none.
  mlir::Value getBatchCarrier();
  /// The model's random state as a value of the body, and a number that tells this use from others.
  mlir::Value getRandomState();
  int64_t takeRandomStream();

  // ---- Results --------------------------------------------------------------------------------

  /// `type`: of floating results, where it is not that of the node's first floating input.
  void setResult(unsigned i, mlir::Value value, DataType type = DataType::Undefined);
  /// Says that dimension `axis` of `value` has only the first `count`, an i64 without dimensions.
  void setBound(mlir::Value value, int64_t axis, mlir::Value count) {
    bounds.add(value, {axis, count});
  }
  /// In training input `i`, a variable, is `value` from the next step on.
  void renew(unsigned i, mlir::Value value);
  /// The type that the node computes in: of its first floating input, else of what it says here.
  DataType getComputeType() const;
  void setComputeType(DataType type) { computeType = type; }
  /// Floating inputs come as they are, whatever the policy of the node: they are compared only.
  void keepInputs() { keepsInputs = true; }

private:
  friend class NodeEmission;

  struct Result {
    mlir::Value value;
    DataType type = DataType::Undefined;
    bool isEmpty = false; ///< without elements: a constant already
    BatchPlace place;
    std::optional<BoundedDimension> bound;
  };

  mlir::Value randomState;
  llvm::SmallVector<Result> results;
  llvm::SmallVector<std::pair<unsigned, mlir::Value>> updates; ///< input, new value
  DataType computeType = DataType::Undefined;
  bool keepsInputs = false;
};

} // namespace mpc::onnx

#endif
