// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// ScheduleFreeAdamW's update rule (keras/src/optimizers/schedule_free_adamw.py; Defazio et al.
// 2024, arXiv:2405.15682).
#include "dialects/mpc/IR/OptimizerUpdate.h"

using namespace mlir;
using namespace mpc;

SmallVector<OptimizerSlot> ScheduleFreeAdamWAttr::getSlots(RankedTensorType variable) const {
  OptimizerSlot momentum{"momentum", variable};
  momentum.startsAsVariable = true;
  return {momentum, {"velocity", variable}};
}

/// The average before the step is recovered from the momentum before the step, as the file says and
/// as Keras on JAX computes; on TensorFlow and PyTorch it reads the momentum after the step, which
/// by then is in the same variable.
SmallVector<Value> ScheduleFreeAdamWAttr::buildUpdate(OpBuilder &builder, Location loc,
                                                      Value variable, Value gradient, Value powers,
                                                      ValueRange slots, ValueRange, Value rate,
                                                      Value iteration) const {
  OptimizerUpdate u{builder, loc, elementTypeOf(variable)};
  Value one = u.constant(1), beta1 = u.constant(getBeta_1()), beta2 = u.constant(getBeta_2());
  // Keras takes these differences in the variable's dtype, not in Python.
  Value rest1 = u.sub(one, beta1), rest2 = u.sub(one, beta2);
  if (getWarmupSteps().getValueAsDouble() > 0) {
    Value part = u.div(iteration, u.constant(getWarmupSteps()));
    rate = u.mul(rate, u.minimum(part, one));
  }
  Value square = u.squareOf(gradient, powers);
  Value velocity = u.add(slots[1], u.mul(u.sub(square, slots[1]), rest2));
  Value second = u.div(velocity, u.correction(getBeta_2(), iteration));
  Value divisor = u.add(u.sqrt(second), u.constant(getEpsilon()));
  Value momentum = u.sub(slots[0], u.div(u.mul(rate, gradient), divisor));
  Value weight = u.div(one, iteration);
  Value average = u.div(u.sub(variable, u.mul(rest1, slots[0])), beta1);
  average = u.add(u.mul(u.sub(one, weight), average), u.mul(weight, momentum));
  return {u.add(u.mul(rest1, momentum), u.mul(beta1, average)), momentum, velocity};
}
