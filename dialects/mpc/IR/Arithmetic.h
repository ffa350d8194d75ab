// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Short names for the mpc ops that compute element by element, as losses and optimizers do.
#ifndef MPC_DIALECTS_MPC_IR_ARITHMETIC_H
#define MPC_DIALECTS_MPC_IR_ARITHMETIC_H

#include "dialects/mpc/IR/Mpc.h"

namespace mpc {

/// Builds expressions of one element type, where nothing else is said; scalars broadcast.
struct Arithmetic {
  using Value = mlir::Value;
  Arithmetic(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type element)
      : builder(builder), loc(loc), element(element) {}

  mlir::OpBuilder &builder;
  mlir::Location loc;
  mlir::Type element;

  Value constant(double value) const { return scalarConstant(builder, loc, element, value); }
  Value add(Value a, Value b) const { return AddOp::create(builder, loc, a, b); }
  Value sub(Value a, Value b) const { return SubtractOp::create(builder, loc, a, b); }
  Value mul(Value a, Value b) const { return MultiplyOp::create(builder, loc, a, b); }
  Value div(Value a, Value b) const { return DivideOp::create(builder, loc, a, b); }
  Value divideNoNan(Value a, Value b) const { return DivideNoNanOp::create(builder, loc, a, b); }
  Value negate(Value a) const { return NegateOp::create(builder, loc, a); }
  Value abs(Value a) const { return AbsOp::create(builder, loc, a); }
  Value log(Value a) const { return LogOp::create(builder, loc, a); }
  Value sqrt(Value a) const { return SqrtOp::create(builder, loc, a); }
  Value power(Value a, Value b) const { return PowerOp::create(builder, loc, a, b); }
  Value square(Value a) const { return mul(a, a); }
  Value softplus(Value a) const { return SoftplusOp::create(builder, loc, a); }
  Value sigmoid(Value a) const { return SigmoidOp::create(builder, loc, a); }
  Value floor(Value a) const { return FloorOp::create(builder, loc, a); }
  Value maximum(Value a, Value b) const { return MaximumOp::create(builder, loc, a, b); }
  Value minimum(Value a, Value b) const { return MinimumOp::create(builder, loc, a, b); }
  /// 1 - a
  Value complement(Value a) const { return sub(constant(1), a); }
  Value logicalAnd(Value a, Value b) const { return LogicalAndOp::create(builder, loc, a, b); }
  Value clip(Value a, double low, double high) const {
    return MaximumOp::create(builder, loc, MinimumOp::create(builder, loc, a, constant(high)),
                             constant(low));
  }
  Value compare(ComparePredicate predicate, Value a, Value b) const {
    return CompareOp::create(builder, loc, predicate, a, b);
  }
  Value select(Value condition, Value a, Value b) const {
    return SelectOp::create(builder, loc, condition, a, b);
  }
  /// `a` with elements of another type.
  Value cast(Value a, mlir::Type elementType) const {
    auto type = tensorTypeOf(a);
    if (type.getElementType() == elementType)
      return a;
    return CastOp::create(builder, loc, type.clone(elementType), a);
  }
  Value widen(Value a) const { return cast(a, element); }
  /// Over every element, to a scalar.
  Value sum(Value a) const {
    auto axes = llvm::to_vector(llvm::seq<int64_t>(0, tensorTypeOf(a).getRank()));
    return axes.empty() ? a
                        : Value(ReduceOp::create(builder, loc, ReduceKind::Sum, a, axes, false));
  }
};

} // namespace mpc

#endif // MPC_DIALECTS_MPC_IR_ARITHMETIC_H
