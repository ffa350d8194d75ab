// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Short names for the ops of optimizer arithmetic in one element type; scalars broadcast.
#ifndef MPC_LIB_AUTODIFF_ARITHMETIC_H
#define MPC_LIB_AUTODIFF_ARITHMETIC_H

#include "dialects/mpc/IR/Mpc.h"

namespace mpc {

struct Arithmetic {
  mlir::OpBuilder &builder;
  mlir::Location loc;
  mlir::Type element;

  mlir::Value constant(double value) const { return scalarConstant(builder, loc, element, value); }
  mlir::Value add(mlir::Value a, mlir::Value b) const { return AddOp::create(builder, loc, a, b); }
  mlir::Value sub(mlir::Value a, mlir::Value b) const {
    return SubtractOp::create(builder, loc, a, b);
  }
  mlir::Value mul(mlir::Value a, mlir::Value b) const {
    return MultiplyOp::create(builder, loc, a, b);
  }
  mlir::Value div(mlir::Value a, mlir::Value b) const {
    return DivideOp::create(builder, loc, a, b);
  }
  mlir::Value pow(mlir::Value a, mlir::Value b) const {
    return PowerOp::create(builder, loc, a, b);
  }
  mlir::Value minimum(mlir::Value a, mlir::Value b) const {
    return MinimumOp::create(builder, loc, a, b);
  }
  mlir::Value maximum(mlir::Value a, mlir::Value b) const {
    return MaximumOp::create(builder, loc, a, b);
  }
  mlir::Value sqrt(mlir::Value a) const { return SqrtOp::create(builder, loc, a); }
  mlir::Value floor(mlir::Value a) const { return FloorOp::create(builder, loc, a); }
  mlir::Value compare(ComparePredicate predicate, mlir::Value a, mlir::Value b) const {
    return CompareOp::create(builder, loc, predicate, a, b);
  }
  mlir::Value select(mlir::Value condition, mlir::Value yes, mlir::Value no) const {
    return SelectOp::create(builder, loc, condition, yes, no);
  }
  /// `value` with element type `type`.
  mlir::Value cast(mlir::Value value, mlir::Type type) const {
    auto from = tensorTypeOf(value);
    return from.getElementType() == type
               ? value
               : mlir::Value(CastOp::create(builder, loc, from.clone(type), value));
  }
  mlir::Value widen(mlir::Value value) const { return cast(value, element); }
  /// Sum of all elements, a scalar.
  mlir::Value sum(mlir::Value a) const {
    llvm::SmallVector<int64_t> axes =
        llvm::to_vector(llvm::seq<int64_t>(0, tensorTypeOf(a).getRank()));
    return axes.empty()
               ? a
               : mlir::Value(ReduceOp::create(builder, loc, ReduceKind::Sum, a, axes, false));
  }
};

} // namespace mpc

#endif // MPC_LIB_AUTODIFF_ARITHMETIC_H
