// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Short names for the mpc ops that losses and metrics are made of.
#ifndef MPC_LIB_TRAINING_EXPRESSION_H
#define MPC_LIB_TRAINING_EXPRESSION_H

#include "dialects/mpc/IR/Arithmetic.h"

namespace mpc {

/// Arithmetic in float32, and what looks along axes or makes other shapes.
struct Expression : Arithmetic {
  Expression(mlir::OpBuilder &builder, mlir::Location loc)
      : Arithmetic(builder, loc, builder.getF32Type()) {}

  Value softmax(Value a, int64_t axis) {
    return SoftmaxOp::create(builder, loc, a.getType(), a, uint64_t(axis));
  }
  Value logSumExp(Value a, llvm::ArrayRef<int64_t> axes) {
    return mpc::logSumExp(builder, loc, a, axes);
  }
  /// The same element by element, of finite values.
  Value logSumExp(llvm::ArrayRef<Value> terms) {
    Value top = terms.front(), sum;
    for (Value term : terms.drop_front())
      top = maximum(top, term);
    top = StopGradientOp::create(builder, loc, top);
    for (Value term : terms) {
      Value part = ExpOp::create(builder, loc, sub(term, top));
      sum = sum ? add(sum, part) : part;
    }
    return add(top, log(sum));
  }
  Value toFloat(Value a) { return widen(a); }
  Value reduce(ReduceKind kind, Value a, llvm::ArrayRef<int64_t> axes, bool keepDims = false) {
    return ReduceOp::create(builder, loc, kind, a, axes, keepDims);
  }
  /// A float32 vector, or a tensor of `shape` with these elements in row-major order.
  Value constants(llvm::ArrayRef<double> values, llvm::ArrayRef<int64_t> shape = {}) {
    llvm::SmallVector<float> floats(values.begin(), values.end());
    auto type = mlir::RankedTensorType::get(
        shape.empty() ? llvm::ArrayRef<int64_t>(int64_t(floats.size())) : shape,
        builder.getF32Type());
    return ConstantOp::create(builder, loc,
                              mlir::DenseElementsAttr::get(type, llvm::ArrayRef<float>(floats)));
  }
  Value reduceLast(ReduceKind kind, Value a, bool keepDims = false) {
    return reduce(kind, a, {tensorTypeOf(a).getRank() - 1}, keepDims);
  }
  /// Over every element, to a scalar.
  Value reduceAll(ReduceKind kind, Value a) {
    llvm::SmallVector<int64_t> axes;
    for (int64_t d = 0; d < tensorTypeOf(a).getRank(); ++d)
      axes.push_back(d);
    return axes.empty() ? a : reduce(kind, a, axes);
  }
  /// a min(rsqrt(sum of a^2 along `axis`), 1 / epsilon) (keras/src/ops/nn.py, _normalize). The
  /// least is taken of the sum, so that zeros have a derivative: the root's is not finite there.
  Value normalize(Value a, int64_t axis, double epsilon) {
    Value sum = reduce(ReduceKind::Sum, square(a), {axis}, /*keepDims=*/true);
    return mul(a, RsqrtOp::create(builder, loc, maximum(sum, constant(epsilon * epsilon))));
  }
  /// Over every dimension but the first `kept`.
  Value reduceFrom(ReduceKind kind, Value a, int64_t kept) {
    auto axes = llvm::to_vector(llvm::seq<int64_t>(kept, tensorTypeOf(a).getRank()));
    return axes.empty() ? a : reduce(kind, a, axes);
  }
  Value argmax(Value a, int64_t axis) { return ArgMaxOp::create(builder, loc, a, uint64_t(axis)); }
  /// Elements offset .. offset + size along an axis.
  Value slice(Value a, int64_t axis, int64_t offset, int64_t size) {
    return SliceOp::create(builder, loc, a, uint64_t(axis), uint64_t(offset), uint64_t(size));
  }
  /// A new dimension of extent 1 before `axis`.
  Value expandDims(Value a, int64_t axis) {
    llvm::SmallVector<int64_t> shape(tensorTypeOf(a).getShape());
    shape.insert(shape.begin() + axis, 1);
    return ReshapeOp::create(builder, loc, mlir::RankedTensorType::get(shape, elementTypeOf(a)), a);
  }
  /// `axis` moved to the end.
  Value moveToLast(Value a, int64_t axis) {
    int64_t rank = tensorTypeOf(a).getRank();
    if (axis == rank - 1)
      return a;
    llvm::SmallVector<int64_t> permutation;
    for (int64_t d = 0; d < rank; ++d)
      if (d != axis)
        permutation.push_back(d);
    permutation.push_back(axis);
    return TransposeOp::create(builder, loc, a, permutation);
  }
  Value onesLike(Value a) { return BroadcastLikeOp::create(builder, loc, constant(1), a); }
  Value oneHot(Value indices, int64_t depth) {
    llvm::SmallVector<int64_t> shape(tensorTypeOf(indices).getShape());
    shape.push_back(depth);
    return OneHotOp::create(builder, loc, mlir::RankedTensorType::get(shape, builder.getF32Type()),
                            indices);
  }
  /// Adds trailing dimensions of extent 1 up to `rank`.
  Value expandTo(Value a, int64_t rank) {
    llvm::SmallVector<int64_t> shape(tensorTypeOf(a).getShape());
    if (int64_t(shape.size()) >= rank)
      return a;
    shape.resize(rank, 1);
    return ReshapeOp::create(builder, loc, mlir::RankedTensorType::get(shape, elementTypeOf(a)), a);
  }
};

} // namespace mpc

#endif // MPC_LIB_TRAINING_EXPRESSION_H
