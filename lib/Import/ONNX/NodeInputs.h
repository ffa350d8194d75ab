// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A node while its ops are emitted: its attributes, and its inputs as values in the body of an
// mpc.layer or as constants.
#ifndef MPC_LIB_IMPORT_ONNX_NODEINPUTS_H
#define MPC_LIB_IMPORT_ONNX_NODEINPUTS_H

#include "lib/Import/Common/BatchFirst.h"
#include "lib/Import/Common/ValueBuilder.h"
#include "lib/Import/ONNX/NodeAttributes.h"
#include "lib/Import/ONNX/NodeValue.h"

namespace mpc::onnx {

class GraphImporter;

class NodeInputs : public ValueBuilder {
public:
  /// `inputs`: null where one is left out.
  NodeInputs(GraphImporter &importer, const Node &node, llvm::StringRef path, int64_t opset,
             llvm::ArrayRef<const NodeValue *> inputs, mlir::Block &body);

  const Node &node;
  const std::string path;
  const int64_t opset;
  const NodeAttributes attributes;

  mlir::Value error(const llvm::Twine &message) override;
  /// An error where a batch of a stated size would do: the message says how one states it.
  mlir::Value errorOfOpenBatch(const llvm::Twine &message);
  void warn(const llvm::Twine &message);
  bool hasFailed() const { return failed; }

  size_t getInputCount() const { return inputs.size(); }
  bool has(unsigned i) const { return i < inputs.size() && inputs[i]; }
  /// The input as a value of the body; null, after an error, where it is left out.
  mlir::Value get(unsigned i);
  DataType getType(unsigned i) const { return has(i) ? inputs[i]->type : DataType::Undefined; }
  llvm::SmallVector<int64_t> getShape(unsigned i) const;
  /// Whether the open batch, where the input has one, is its first dimension and nothing else.
  bool isBatchFirst(unsigned i) const { return !has(i) || inputs[i]->place.isFirst(); }
  /// How many batches the open extent of the input is.
  int64_t getBatchFactor(unsigned i) const { return has(i) ? inputs[i]->place.getFactor() : 1; }
  /// Whether a count of values says one of the input's extents.
  bool isBounded(unsigned i) const { return has(i) && inputs[i]->bound; }
  bool isVariable(unsigned i) const { return has(i) && inputs[i]->variable; }
  /// The input where its elements are known, else null.
  const Literal *getLiteral(unsigned i);
  /// The integers of an input that must be constant; nothing after an error. `what` is its name.
  std::optional<llvm::SmallVector<int64_t>> getIntegers(unsigned i, llvm::StringRef what);
  /// The shape that the file states for result `output`, where an input that decides it is no
  /// constant. Nothing, after an error, where the file states none. `what` is the name of input
  /// `i`; a warning says that the library does not read it, unless it does (`isRead`).
  std::optional<llvm::SmallVector<int64_t>>
  takeStatedShape(unsigned i, llvm::StringRef what, unsigned output = 0, bool isRead = false);
  /// Extents that are known, in which ShapedType::kDynamic stands for the batch. `factor` gets how
  /// many batches that is; without it a multiple is an error.
  std::optional<llvm::SmallVector<int64_t>> getExtents(unsigned i, llvm::StringRef what,
                                                       int64_t *factor = nullptr);
  std::optional<llvm::SmallVector<double>> getNumbers(unsigned i, llvm::StringRef what);

  bool isWanted(unsigned i) const { return i < node.outputs.size() && !node.outputs[i].empty(); }

protected:
  mlir::Value makeLiteral(const Literal &literal);

  GraphImporter &importer;
  mlir::Block &body;
  llvm::SmallVector<const NodeValue *> inputs;
  llvm::SmallVector<mlir::Value> bound;     ///< inputs in the body, as they are asked for
  llvm::SmallVector<mlir::Value> operands;  ///< of the mpc.layer: what block arguments stand for
  llvm::SmallVector<mlir::Value> variables; ///< the same, behind the operands
  /// Inputs that the ops of the body see as the file has them, and what these stand for.
  llvm::SmallVector<std::pair<mlir::Value, BatchFirst::Batched>> views;
  BoundFlow bounds; ///< of inputs, and of what the operation counts
  llvm::SmallVector<std::shared_ptr<const Literal>> literals; ///< that were asked for
  bool movesElements = false; ///< the operation may take extents that are the open batch
  bool takesAnyPlace = false; ///< of the open batch among the dimensions of inputs
  bool failed = false;
};

} // namespace mpc::onnx

#endif
