// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Nodes that keras.ops recorded in a Functional graph. Files hold them even where no user wrote
// one: Keras computes the masks of Masking, Embedding and merging layers with them.
#ifndef MPC_LIB_IMPORT_KERAS_OPERATIONS_H
#define MPC_LIB_IMPORT_KERAS_OPERATIONS_H

#include "dialects/mpc/IR/Mpc.h"
#include "mpc/Import/Keras/Config.h"

namespace mpc::keras {

/// What the importer of one operation sees. Operations have neither policy nor variables: their ops
/// stand in @forward and compute in what their operands have.
class OperationBuilder {
public:
  OperationBuilder(mlir::OpBuilder &builder, mlir::Location location, const LayerConfig &layer,
                   const Node &node, llvm::ArrayRef<mlir::Value> tensors);

  /// Argument `position` as a tensor: a tensor, or a number or truth value with the element type of
  /// the first tensor. Null after an error.
  mlir::Value getOperand(unsigned position);
  llvm::ArrayRef<mlir::Value> getTensors() const { return tensors; }
  /// Axis `axis` of a tensor of `rank`, counted from the front; nothing, and an error, outside of
  /// it and for the batch.
  std::optional<int64_t> resolveAxis(int64_t axis, int64_t rank);
  mlir::Value toBool(mlir::Value value);

  template <typename Op, typename... Arguments> mlir::Value make(Arguments &&...arguments) {
    return Op::create(builder, location, std::forward<Arguments>(arguments)...)->getResult(0);
  }
  mlir::Value makeScalar(mlir::Type elementType, double value);
  mlir::Value error(const llvm::Twine &message) {
    if (message_.empty())
      message_ = message.str();
    return {};
  }
  const std::string &getError() const { return message_; }

  mlir::OpBuilder &builder;
  const mlir::Location location;
  const LayerConfig &layer;

private:
  const Node &node;
  llvm::ArrayRef<mlir::Value> tensors;
  std::string message_;
};

/// Nodes that keras.ops recorded are operations, not layers, and own no group in weight files.
bool isOperation(const LayerConfig &layer);

using OperationImportFn = mlir::Value (*)(OperationBuilder &);
/// Null for an operation that is not supported.
OperationImportFn findOperation(const LayerConfig &layer);

} // namespace mpc::keras

#endif
