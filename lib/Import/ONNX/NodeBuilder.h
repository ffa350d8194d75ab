// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The function of an operation sees this: a node, its inputs inside the body of an mpc.layer, and
// where its results go.
#ifndef MPC_LIB_IMPORT_ONNX_NODEBUILDER_H
#define MPC_LIB_IMPORT_ONNX_NODEBUILDER_H

#include "lib/Import/Common/ValueBuilder.h"
#include "lib/Import/ONNX/NodeAttributes.h"
#include "lib/Import/ONNX/NodeValue.h"

namespace mpc::onnx {

class GraphImporter;

class NodeBuilder : public ValueBuilder {
public:
  /// `inputs`: null where one is left out.
  NodeBuilder(GraphImporter &importer, const Node &node, llvm::StringRef path, int64_t opset,
              llvm::ArrayRef<const NodeValue *> inputs, mlir::Block &body);

  const Node &node;
  const std::string path;
  const int64_t opset;
  const NodeAttributes attributes;

  mlir::Value error(const llvm::Twine &message) override;
  bool hasFailed() const { return failed; }

  // ---- Inputs ---------------------------------------------------------------------------------

  size_t getInputCount() const { return inputs.size(); }
  bool has(unsigned i) const { return i < inputs.size() && inputs[i]; }
  /// The input as a value of the body; null, after an error, where it is left out.
  mlir::Value get(unsigned i);
  DataType getType(unsigned i) const { return has(i) ? inputs[i]->type : DataType::Undefined; }
  llvm::SmallVector<int64_t> getShape(unsigned i) const;
  bool isVariable(unsigned i) const { return has(i) && inputs[i]->variable; }
  /// The input where its elements are known, else null.
  const Literal *getLiteral(unsigned i);
  /// The integers of an input that must be constant; nothing after an error. `what` is its name.
  std::optional<llvm::SmallVector<int64_t>> getIntegers(unsigned i, llvm::StringRef what);
  /// The same of extents, in which ShapedType::kDynamic is the batch.
  std::optional<llvm::SmallVector<int64_t>> getExtents(unsigned i, llvm::StringRef what);
  std::optional<llvm::SmallVector<double>> getNumbers(unsigned i, llvm::StringRef what);

  // ---- Axes -----------------------------------------------------------------------------------

  /// `axis` counted from the front; nothing after an error.
  std::optional<int64_t> resolveAxis(int64_t axis, int64_t rank);
  /// The same of several, in ascending order, none twice.
  std::optional<llvm::SmallVector<int64_t>> resolveAxes(llvm::ArrayRef<int64_t> axes, int64_t rank);

  /// Whether the shapes broadcast as NumPy's; false after an error.
  bool checkBroadcast(llvm::ArrayRef<mlir::Value> values);

  // ---- Values ---------------------------------------------------------------------------------

  mlir::Value makeLiteral(const Literal &literal);
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
  bool isWanted(unsigned i) const { return i < node.outputs.size() && !node.outputs[i].empty(); }
  /// In training input `i`, a variable, is `value` from the next step on.
  void renew(unsigned i, mlir::Value value);
  /// The type that the node computes in: of its first floating input, else of what it says here.
  DataType getComputeType() const;
  void setComputeType(DataType type) { computeType = type; }

private:
  friend class NodeEmission;

  struct Result {
    mlir::Value value;
    DataType type = DataType::Undefined;
  };

  GraphImporter &importer;
  mlir::Block &body;
  llvm::SmallVector<const NodeValue *> inputs;
  llvm::SmallVector<mlir::Value> bound;     ///< inputs in the body, as they are asked for
  llvm::SmallVector<mlir::Value> operands;  ///< of the mpc.layer: what block arguments stand for
  llvm::SmallVector<mlir::Value> variables; ///< the same, behind the operands
  mlir::Value randomState;
  llvm::SmallVector<std::shared_ptr<const Literal>> literals; ///< that were asked for
  llvm::SmallVector<Result> results;
  llvm::SmallVector<std::pair<unsigned, mlir::Value>> updates; ///< input, new value
  DataType computeType = DataType::Undefined;
  bool movesElements = false; ///< the operation may take extents that are the open batch
  bool failed = false;
};

} // namespace mpc::onnx

#endif
