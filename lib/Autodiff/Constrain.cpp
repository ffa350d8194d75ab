// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Weight constraints as Keras computes them (keras/src/constraints/constraints.py).
#include "dialects/mpc/IR/Arithmetic.h"
#include "lib/Autodiff/TrainStep.h"

using namespace mlir;
using namespace mpc;

/// keras.config.epsilon()
static constexpr double kEpsilon = 1e-7;

Value mpc::constrain(OpBuilder &builder, Location loc, ConstraintAttr constraint, Value value) {
  Arithmetic a{builder, loc, elementTypeOf(value)};
  ConstraintKind kind = constraint.getKind();
  if (kind == ConstraintKind::NonNegative)
    return a.maximum(value, a.constant(0));
  Value norm = a.sqrt(ReduceOp::create(builder, loc, ReduceKind::Sum, a.mul(value, value),
                                       constraint.getAxes(), /*keepDims=*/true));
  Value divisor = a.add(norm, a.constant(kEpsilon));
  if (kind == ConstraintKind::UnitNorm)
    return a.div(value, divisor);
  bool isMinMax = kind == ConstraintKind::MinMaxNorm;
  double low = isMinMax ? constraint.getMin().getValueAsDouble() : 0;
  Value desired = a.minimum(a.maximum(norm, a.constant(low)),
                            a.constant(constraint.getMax().getValueAsDouble()));
  if (isMinMax) {
    double rate = constraint.getRate().getValueAsDouble();
    desired = a.add(a.mul(a.constant(rate), desired), a.mul(a.constant(1 - rate), norm));
  }
  return a.mul(value, a.div(desired, divisor));
}
