// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How importers of layers and of recorded operations make mpc ops.
#ifndef MPC_LIB_IMPORT_COMMON_VALUEBUILDER_H
#define MPC_LIB_IMPORT_COMMON_VALUEBUILDER_H

#include "lib/Import/Common/ConstantBuilder.h"

#include "llvm/ADT/Twine.h"

#include <optional>

namespace mpc {

/// tf.math.l2_normalize, which Keras 2 normalizes vectors by, divides by no less.
inline constexpr double kLeastNormOfKeras2 = 1e-6;

class ValueBuilder : public ConstantBuilder {
public:
  using ConstantBuilder::ConstantBuilder;
  virtual ~ValueBuilder() = default;

  /// Reports what is wrong with what is being imported; returns null.
  virtual mlir::Value error(const llvm::Twine &message) = 0;

  static llvm::ArrayRef<int64_t> shapeOf(mlir::Value value) {
    return tensorTypeOf(value).getShape();
  }
  static int64_t rankOf(mlir::Value value) { return int64_t(shapeOf(value).size()); }

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
};

} // namespace mpc

#endif
