// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Short names for the ops of an optimizer's update rule; scalars broadcast against the variable.
#ifndef MPC_DIALECTS_MPC_IR_OPTIMIZERUPDATE_H
#define MPC_DIALECTS_MPC_IR_OPTIMIZERUPDATE_H

#include "dialects/mpc/IR/Mpc.h"

namespace mpc {

struct OptimizerUpdate {
  mlir::OpBuilder &builder;
  mlir::Location loc;
  mlir::Type element;
  using Value = mlir::Value;

  Value constant(mlir::FloatAttr value) { return constant(value.getValueAsDouble()); }
  Value constant(double value) { return scalarConstant(builder, loc, element, value); }
  /// 1 - value, the difference taken in double as Python takes it.
  Value rest(mlir::FloatAttr value) { return constant(1 - value.getValueAsDouble()); }
  Value add(Value a, Value b) { return AddOp::create(builder, loc, a, b); }
  Value sub(Value a, Value b) { return SubtractOp::create(builder, loc, a, b); }
  Value mul(Value a, Value b) { return MultiplyOp::create(builder, loc, a, b); }
  Value div(Value a, Value b) { return DivideOp::create(builder, loc, a, b); }
  Value pow(Value a, Value b) { return PowerOp::create(builder, loc, a, b); }
  Value maximum(Value a, Value b) { return MaximumOp::create(builder, loc, a, b); }
  Value minimum(Value a, Value b) { return MinimumOp::create(builder, loc, a, b); }
  Value sqrt(Value a) { return SqrtOp::create(builder, loc, a); }
  Value square(Value a) { return mul(a, a); }
  /// `powers` where the step has them, else the gradient's squares.
  Value squareOf(Value gradient, Value powers) { return powers ? powers : square(gradient); }
  Value abs(Value a) { return AbsOp::create(builder, loc, a); }
  /// 1 - base^exponent, the bias correction of Adam and its kin.
  Value correction(mlir::FloatAttr base, Value exponent) {
    return sub(constant(1), pow(constant(base), exponent));
  }
  /// average + (value - average) * (1 - decay)
  Value decayed(Value average, Value value, mlir::FloatAttr decay) {
    return add(average, mul(sub(value, average), rest(decay)));
  }
  Value reduce(ReduceKind kind, Value a, llvm::ArrayRef<int64_t> axes, bool keepDims = false) {
    return ReduceOp::create(builder, loc, kind, a, axes, keepDims);
  }
  /// Over every element, to a scalar.
  Value reduceAll(ReduceKind kind, Value a) {
    auto axes = llvm::to_vector(llvm::seq<int64_t>(0, tensorTypeOf(a).getRank()));
    return axes.empty() ? a : reduce(kind, a, axes);
  }
  Value select(ComparePredicate predicate, Value a, Value b, Value yes, Value no) {
    Value condition = CompareOp::create(builder, loc, predicate, a, b);
    return SelectOp::create(builder, loc, condition, yes, no);
  }
};

} // namespace mpc

#endif // MPC_DIALECTS_MPC_IR_OPTIMIZERUPDATE_H
