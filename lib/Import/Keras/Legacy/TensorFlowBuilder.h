// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The view of a call for the importer of one TensorFlow function: its arguments by TensorFlow's
// names, and the operations of keras.ops to compute it with. TensorFlow promotes nothing: a
// constant has the dtype of the tensor that it goes with, and integers stay integers.
#ifndef MPC_LIB_IMPORT_KERAS_LEGACY_TENSORFLOWBUILDER_H
#define MPC_LIB_IMPORT_KERAS_LEGACY_TENSORFLOWBUILDER_H

#include "lib/Import/Keras/Legacy/SymbolicIntegers.h"

#include "lib/Import/Common/ValueBuilder.h"
#include "mpc/Import/Keras/Config.h"

namespace mpc::keras {

class GraphImporter;
class TensorFlowBuilder;

/// Emits the function and returns its (first) result; null after an error.
using TensorFlowImportFn = mlir::Value (*)(TensorFlowBuilder &);

/// A function of TensorFlow's API as files name it, without "tf.".
struct TensorFlowFunction {
  llvm::StringLiteral names;      ///< with "|" between; "compat.v1." in front is understood
  llvm::StringLiteral parameters; ///< in order, with spaces between, other spellings behind "|"
  TensorFlowImportFn import;
  llvm::StringLiteral operation = ""; ///< of keras.ops, for functions that share an importer
};

/// A keyword of an operation of keras.ops and what it is given.
struct Given {
  /// A tensor, an ArrayRef of tensors or of integers, or what JSON has.
  template <typename What> Given(llvm::StringRef keyword, What &&what) : keyword(keyword) {
    using Plain = std::decay_t<What>;
    if constexpr (std::is_same_v<Plain, mlir::Value>) {
      tensor = what;
    } else if constexpr (std::is_same_v<Plain, llvm::ArrayRef<mlir::Value>>) {
      list = llvm::to_vector(what);
      isList = true;
    } else if constexpr (std::is_same_v<Plain, llvm::ArrayRef<int64_t>>) {
      literal = llvm::json::Array(what);
    } else {
      literal = llvm::json::Value(std::forward<What>(what));
    }
  }

  llvm::StringRef keyword;
  mlir::Value tensor;
  llvm::SmallVector<mlir::Value> list;
  bool isList = false;
  llvm::json::Value literal = nullptr;
};

class TensorFlowBuilder : public ValueBuilder {
public:
  /// `tensors` are the values of `node`'s tensors, positional ones first.
  TensorFlowBuilder(GraphImporter &importer, mlir::OpBuilder builder, mlir::Location location,
                    const TensorFlowFunction &function, const Node &node,
                    llvm::ArrayRef<mlir::Value> tensors);

  /// The argument for a parameter, by its first spelling: null when it is missing or None.
  const Argument *find(llvm::StringRef parameter) const;
  /// It as a tensor. A constant gets the dtype of `like`, or without it that of
  /// tf.convert_to_tensor: int32, float32 (without saying so to other floats) or bool.
  mlir::Value getTensor(llvm::StringRef parameter, mlir::Value like = {});
  mlir::Value toTensor(const Argument &argument, mlir::Value like);
  /// It as a floating tensor, which functions without integer kernels take.
  mlir::Value getFloat(llvm::StringRef parameter);
  /// Two arguments of one dtype, of shapes that broadcast.
  std::pair<mlir::Value, mlir::Value> getPair(llvm::StringRef first, llvm::StringRef second);
  /// A list of tensors and constants of one dtype; empty after an error.
  llvm::SmallVector<mlir::Value> getTensors(llvm::StringRef parameter);

  std::optional<double> findNumber(llvm::StringRef parameter);
  double getNumber(llvm::StringRef parameter, double otherwise) {
    return findNumber(parameter).value_or(otherwise);
  }
  bool getFlag(llvm::StringRef parameter, bool otherwise);
  std::string getString(llvm::StringRef parameter, llvm::StringRef otherwise);
  /// Integers that are known, up to the batch; nothing, without an error, for others.
  std::optional<SymbolicIntegers> findSymbolic(llvm::StringRef parameter) const;
  std::optional<SymbolicIntegers> toSymbolic(const Argument &argument) const;
  /// Integers that are known; nothing for None. Others are an error.
  std::optional<llvm::SmallVector<int64_t>> getIntegers(llvm::StringRef parameter);
  std::optional<int64_t> getInteger(llvm::StringRef parameter);
  int64_t getInteger(llvm::StringRef parameter, int64_t otherwise) {
    return getInteger(parameter).value_or(otherwise);
  }
  /// The extents of a shape, of which one may be the batch, as kDynamic; -1 stays. An error where
  /// the argument holds anything else, or is missing.
  std::optional<llvm::SmallVector<int64_t>> getShape(llvm::StringRef parameter);

  /// The value of integers, which later functions find again.
  mlir::Value makeIntegers(const SymbolicIntegers &integers, mlir::Type elementType);
  /// A tensor of this shape, whose first extent may be the batch, with the same number everywhere.
  mlir::Value makeFilled(mlir::Value number, llvm::ArrayRef<int64_t> shape, mlir::Value sample);
  /// An operation of keras.ops, its first result; null after an error.
  mlir::Value call(llvm::StringRef operation, llvm::ArrayRef<Given> arguments);
  mlir::Value cast(mlir::Value value, llvm::StringRef dtype);

  mlir::Value error(const llvm::Twine &message) override {
    if (message_.empty())
      message_ = message.str();
    return {};
  }
  bool hasFailed() const { return !message_.empty(); }
  const std::string &getError() const { return message_; }

  GraphImporter &importer;
  const TensorFlowFunction &function;
  llvm::SmallVector<mlir::Value> furtherResults; ///< of the function, behind the first
  llvm::SmallVector<mlir::Value> laterResults;   ///< of the last call, behind the first

private:
  mlir::Value makeLiteral(const Argument &argument, mlir::Value like);

  const Node &node;
  llvm::DenseMap<const TensorRef *, mlir::Value> tensors;
  std::string message_;
};

/// The families' tables.
llvm::ArrayRef<TensorFlowFunction> tensorFlowArithmetic();
llvm::ArrayRef<TensorFlowFunction> tensorFlowImages();
llvm::ArrayRef<TensorFlowFunction> tensorFlowIndexing();
llvm::ArrayRef<TensorFlowFunction> tensorFlowMatrices();
llvm::ArrayRef<TensorFlowFunction> tensorFlowNetworks();
llvm::ArrayRef<TensorFlowFunction> tensorFlowRandom();
llvm::ArrayRef<TensorFlowFunction> tensorFlowReductions();
llvm::ArrayRef<TensorFlowFunction> tensorFlowShapes();
llvm::ArrayRef<TensorFlowFunction> tensorFlowSizes();
llvm::ArrayRef<TensorFlowFunction> tensorFlowWindows();

/// Null for a function that is not supported.
const TensorFlowFunction *findTensorFlowFunction(llvm::StringRef name);

// Functions that several families need.

/// Whole tensors of one kind and shape; null after an error.
mlir::Value tensorFlowUnary(TensorFlowBuilder &b);
/// lgamma or digamma, as the function is called.
mlir::Value importGammaFunction(TensorFlowBuilder &b);
/// `function` of two arguments where both are known integers, such as extents; null for others.
mlir::Value combineIntegers(TensorFlowBuilder &b, llvm::StringRef first, llvm::StringRef second,
                            ExtentFn function);

} // namespace mpc::keras

#endif
