// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Nodes that keras.ops recorded in a Functional graph. Files hold them even where no user wrote
// one: Keras computes the masks of Masking, Embedding and merging layers with them.
//
// Operations have neither policy nor variables: their ops stand in @forward and compute in what
// their operands have, by Keras's promotion (keras/src/backend/common/dtypes.py). Among floating
// tensors mpc-insert-casts promotes, because policies decide their dtypes; what concerns integers
// and truth values is decided here.
#ifndef MPC_LIB_IMPORT_KERAS_OPERATIONS_OPERATIONBUILDER_H
#define MPC_LIB_IMPORT_KERAS_OPERATIONS_OPERATIONBUILDER_H

#include "lib/Import/Common/ValueBuilder.h"
#include "mpc/Import/Keras/Config.h"

namespace mpc::keras {

/// One operand of an operation.
struct Operand {
  mlir::Value value;
  bool weak = false; ///< a Python number, which decides no dtype but its kind

  explicit operator bool() const { return bool(value); }
  bool isFloat() const { return mlir::isa<mlir::FloatType>(elementTypeOf(value)); }
};

class OperationBuilder : public ValueBuilder {
public:
  /// `tensors` are the values of `node`'s tensors, positional ones first, in Keras's order.
  OperationBuilder(mlir::OpBuilder builder, mlir::Location location, const LayerConfig &layer,
                   const Node &node, llvm::ArrayRef<mlir::Value> tensors);

  /// The argument at `position`, or by keyword, or in the config: null when it is nowhere or None.
  const Argument *findArgument(unsigned position, llvm::StringRef name) const;
  /// It as a tensor, a number or an array; null (and an error) when it is missing or anything else.
  Operand getOperand(unsigned position, llvm::StringRef name);
  /// All tensors of a list argument, numbers and arrays among them.
  llvm::SmallVector<Operand> getOperands(unsigned position, llvm::StringRef name);
  /// The operand as a floating tensor: integers become float32, Keras's floatx.
  mlir::Value getFloat(unsigned position, llvm::StringRef name);
  mlir::Value getValue(unsigned position, llvm::StringRef name) {
    return getOperand(position, name).value;
  }

  /// Literals, from the config or the call.
  std::optional<int64_t> getInteger(unsigned position, llvm::StringRef name);
  std::optional<double> getNumber(unsigned position, llvm::StringRef name);
  bool getFlag(unsigned position, llvm::StringRef name, bool otherwise);
  std::string getString(unsigned position, llvm::StringRef name, llvm::StringRef otherwise);
  /// An integer or a list of integers; null elements become -1. Nothing for None.
  std::optional<llvm::SmallVector<int64_t>> getIntegers(unsigned position, llvm::StringRef name);
  /// An error, and true, where the argument is a float64 tensor and `reason` is why that is not
  /// supported.
  bool refuseFloat64(unsigned position, llvm::StringRef name, llvm::StringRef reason);
  /// The literal itself; null when it is None or a tensor.
  const llvm::json::Value *getLiteral(unsigned position, llvm::StringRef name);

  /// Brings the operands to the dtype that Keras promotes them to. False after an error.
  bool promote(llvm::MutableArrayRef<Operand> operands);
  /// x1 and x2 in their common dtype, of shapes that broadcast; null values after an error.
  std::pair<Operand, Operand> getPair();
  /// The same as floating tensors: integers become float32.
  std::pair<mlir::Value, mlir::Value> getFloatPair();
  /// Two named arguments, the first two of the call, in the same way; of any shapes.
  std::pair<mlir::Value, mlir::Value> getFloats(llvm::StringRef first, llvm::StringRef second);
  /// Axes of `value` from the front, sorted; all of them for None. The batch is an error unless
  /// `acrossSamples`. Nothing after an error.
  std::optional<llvm::SmallVector<int64_t>> getAxes(unsigned position, llvm::StringRef name,
                                                    mlir::Value value, bool acrossSamples);
  /// One axis of `value`, from the front; it may not be the batch. Nothing after an error.
  std::optional<int64_t> getAxis(unsigned position, llvm::StringRef name, int64_t otherwise,
                                 mlir::Value value);
  /// The same of an axis as it is written, of a tensor of `rank` that has the batch first.
  std::optional<int64_t> getAxis(int64_t written, int64_t rank);

  mlir::Value error(const llvm::Twine &message) override {
    if (message_.empty())
      message_ = message.str();
    return {};
  }
  const std::string &getError() const { return message_; }
  bool hasFailed() const { return !message_.empty(); }
  /// A result behind the first one.
  void addResult(mlir::Value value) { furtherResults.push_back(value); }

  const LayerConfig &layer;
  llvm::SmallVector<mlir::Value> furtherResults;
  /// Results may have the batch elsewhere than first: who reads them knows how to bring it there.
  bool movesBatch = false;

private:
  Operand makeOperand(const Argument &argument, llvm::StringRef name);
  Operand makeArray(const llvm::json::Value &value, llvm::StringRef dtype, llvm::StringRef name);

  const Node &node;
  llvm::DenseMap<const TensorRef *, mlir::Value> tensors;
  mutable std::vector<std::unique_ptr<Argument>> fromConfig;
  std::string message_;
};

/// Emits the operation and returns its (first) result; null after an error.
using OperationImportFn = mlir::Value (*)(OperationBuilder &);

struct OperationEntry {
  llvm::StringLiteral name; ///< of the class in keras/src/ops, keras/src/activations
  OperationImportFn import;
};

/// The elements of `x` at these places along an axis.
mlir::Value gatherAlong(OperationBuilder &b, mlir::Value x, int64_t axis,
                        llvm::ArrayRef<int64_t> places);
mlir::Value pad(OperationBuilder &b);
/// keras.ops.rearrange, a pattern of einops.
mlir::Value rearrange(OperationBuilder &b);
/// Sorted along the last axis; null after an error.
mlir::Value sortLastAxis(OperationBuilder &b, mlir::Value x);

/// Keras widens narrow integers and truth values before it sums them; others as they are.
mlir::Value widenForSum(OperationBuilder &b, mlir::Value x);
/// 0, or `nan`, in place of NaN, and the largest finite numbers in place of infinities; integers
/// as they are.
mlir::Value makeFinite(OperationBuilder &b, mlir::Value x, double nan);
/// max(x, y) + tail(|x - y|), and x + y where the difference is NaN, as of equal infinities.
mlir::Value addLogarithms(OperationBuilder &b, mlir::Value x, mlir::Value y,
                          mlir::Value (*tail)(OperationBuilder &, mlir::Value));
/// A tensor in a dtype that the file names; null after an error.
mlir::Value castToDType(OperationBuilder &b, mlir::Value x, llvm::StringRef dtype);

/// The families' tables.
llvm::ArrayRef<OperationEntry> arithmeticOperations();
llvm::ArrayRef<OperationEntry> activationOperations();
llvm::ArrayRef<OperationEntry> complexOperations();
llvm::ArrayRef<OperationEntry> indexingOperations();
llvm::ArrayRef<OperationEntry> imageFilters();
llvm::ArrayRef<OperationEntry> imageOperations();
llvm::ArrayRef<OperationEntry> imageTransforms();
llvm::ArrayRef<OperationEntry> integerOperations();
llvm::ArrayRef<OperationEntry> matrixOperations();
llvm::ArrayRef<OperationEntry> normalizationOperations();
llvm::ArrayRef<OperationEntry> productOperations();
llvm::ArrayRef<OperationEntry> realFunctions();
llvm::ArrayRef<OperationEntry> reductionOperations();
llvm::ArrayRef<OperationEntry> shapeOperations();
llvm::ArrayRef<OperationEntry> smallMatrixOperations();
llvm::ArrayRef<OperationEntry> sortingOperations();
llvm::ArrayRef<OperationEntry> specialFunctions();
llvm::ArrayRef<OperationEntry> splitOperations();
llvm::ArrayRef<OperationEntry> statisticOperations();
llvm::ArrayRef<OperationEntry> windowOperations();

/// Null for an operation that is not supported.
OperationImportFn findOperation(const LayerConfig &layer);

} // namespace mpc::keras

#endif
