// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How importers of layers and of recorded operations make mpc ops.
#ifndef MPC_LIB_IMPORT_KERAS_VALUEBUILDER_H
#define MPC_LIB_IMPORT_KERAS_VALUEBUILDER_H

#include "dialects/mpc/IR/Mpc.h"

#include "llvm/ADT/Twine.h"

#include <optional>

namespace mpc::keras {

/// tf.math.l2_normalize, which Keras 2 normalizes vectors by, divides by no less.
inline constexpr double kLeastNormOfKeras2 = 1e-6;

class ValueBuilder {
public:
  ValueBuilder(mlir::OpBuilder builder, mlir::Location location)
      : builder(builder), location(location) {}
  virtual ~ValueBuilder() = default;

  /// Reports what is wrong with what is being imported; returns null.
  virtual mlir::Value error(const llvm::Twine &message) = 0;

  /// Whether layers can take these results of a layer or an operation: none is null. One that has
  /// no elements, or the batch in another place than the first, is an error.
  bool judgeResults(llvm::ArrayRef<mlir::Value> results);

  static llvm::ArrayRef<int64_t> shapeOf(mlir::Value value) {
    return tensorTypeOf(value).getShape();
  }
  static int64_t rankOf(mlir::Value value) { return int64_t(shapeOf(value).size()); }
  /// `axis` counted from the front; an error (and nothing) outside the rank, or for the batch.
  std::optional<int64_t> resolveAxis(int64_t axis, mlir::Value value);

  template <typename Op, typename... Arguments> mlir::Value make(Arguments &&...arguments) {
    return Op::create(builder, location, std::forward<Arguments>(arguments)...)->getResult(0);
  }
  mlir::Value makeConstant(double value);
  /// A floating constant of this shape.
  mlir::Value makeConstant(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<double> values);
  /// A scalar of any element type; a floating one is weak.
  mlir::Value makeScalar(mlir::Type elementType, double value);
  /// A scalar of an integer type, whose lowest bits `value` has.
  mlir::Value makeInteger(mlir::Type elementType, int64_t value);
  /// An int32 constant of this shape.
  mlir::Value makeIndices(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> values);
  mlir::Value makeMask(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<bool> values);
  mlir::Value makeCompare(ComparePredicate predicate, mlir::Value lhs, mlir::Value rhs) {
    return make<CompareOp>(predicate, lhs, rhs);
  }
  mlir::Value makeSelect(mlir::Value condition, mlir::Value onTrue, mlir::Value onFalse) {
    return make<SelectOp>(condition, onTrue, onFalse);
  }
  mlir::Value makeSelect(ComparePredicate predicate, mlir::Value lhs, mlir::Value rhs,
                         mlir::Value onTrue, mlir::Value onFalse) {
    return makeSelect(makeCompare(predicate, lhs, rhs), onTrue, onFalse);
  }
  mlir::Value makeNot(mlir::Value condition);
  /// Either of two masks, which broadcast.
  mlir::Value makeOr(mlir::Value lhs, mlir::Value rhs) { return makeSelect(lhs, lhs, rhs); }
  /// A scalar zero (false) of any element type.
  mlir::Value makeZero(mlir::Type elementType) { return makeScalar(elementType, 0); }
  /// True where the value is not zero; i1 stays.
  mlir::Value makeBool(mlir::Value value);
  /// `value` in what Keras promotes the dtypes of `like` to; with `wide` at least float32.
  mlir::Value makeCastLike(mlir::Value value, mlir::ValueRange like, bool wide = false);
  /// `value` in a floating dtype that the file names: a strong one, which constants have not.
  mlir::Value makeCastTo(mlir::Value value, mlir::Type elementType);
  mlir::Value makeCastToFloat(mlir::Value value);
  /// `number`, or `half` where that is infinite, which is in float16: Keras's constants that depend
  /// on the compute dtype.
  mlir::Value makeConstantOr(double number, double half);
  mlir::Value makeReshape(mlir::Value value, llvm::ArrayRef<int64_t> shape);
  mlir::Value makeReduce(ReduceKind kind, mlir::Value value, llvm::ArrayRef<int64_t> axes,
                         bool keepDims) {
    return make<ReduceOp>(kind, value, axes, keepDims);
  }
  /// Einstein summation; null after an error.
  mlir::Value makeEinsum(llvm::StringRef equation, llvm::ArrayRef<mlir::Value> operands);
  /// x min(rsqrt(sum of x^2 over axes), 1 / epsilon) (keras/src/ops/nn.py, _normalize), in float32
  /// or wider, in the dtype of `value`.
  mlir::Value makeUnitNorm(mlir::Value value, llvm::ArrayRef<int64_t> axes, double epsilon);
  /// exp(x - logsumexp(x)) over several axes, softmax over one.
  mlir::Value makeSoftmax(mlir::Value value, llvm::ArrayRef<int64_t> axes);

  mlir::OpBuilder builder;
  mlir::Location location;
};

} // namespace mpc::keras

#endif
