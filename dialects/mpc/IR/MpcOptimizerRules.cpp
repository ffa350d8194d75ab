// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Update rules of the optimizers, as mpc ops in float32 (keras-semantics, section 5.3).
#include "dialects/mpc/IR/Mpc.h"

using namespace mlir;
using namespace mpc;

namespace {
/// Short names for the ops of an update; scalars broadcast against the variable.
struct Update {
  OpBuilder &builder;
  Location loc;
  Type element;

  Value constant(FloatAttr value) { return constant(value.getValueAsDouble()); }
  Value constant(double value) { return scalarConstant(builder, loc, element, value); }
  Value add(Value a, Value b) { return AddOp::create(builder, loc, a, b); }
  Value sub(Value a, Value b) { return SubtractOp::create(builder, loc, a, b); }
  Value mul(Value a, Value b) { return MultiplyOp::create(builder, loc, a, b); }
  Value div(Value a, Value b) { return DivideOp::create(builder, loc, a, b); }
  Value sqrt(Value a) { return SqrtOp::create(builder, loc, a); }
  Value pow(Value a, Value b) { return PowerOp::create(builder, loc, a, b); }
};
} // namespace

SmallVector<StringRef> SGDAttr::getSlotNames() const {
  if (getMomentum().getValueAsDouble() == 0)
    return {};
  return {"momentum"};
}

SmallVector<Value> SGDAttr::buildUpdate(OpBuilder &builder, Location loc, Value variable,
                                        Value gradient, ValueRange slots, Value rate, Value) const {
  Update u{builder, loc, elementTypeOf(variable)};
  Value step = u.mul(gradient, rate);
  if (slots.empty())
    return {u.sub(variable, step)};
  Value momentum = u.constant(getMomentum());
  Value velocity = u.sub(u.mul(slots[0], momentum), step);
  Value next = getNesterov() ? u.add(variable, u.sub(u.mul(velocity, momentum), step))
                             : u.add(variable, velocity);
  return {next, velocity};
}

SmallVector<StringRef> RMSpropAttr::getSlotNames() const {
  SmallVector<StringRef> names{"velocity"};
  if (getMomentum().getValueAsDouble() > 0)
    names.push_back("momentum");
  if (getCentered())
    names.push_back("average_gradient");
  return names;
}

unsigned RMSpropAttr::getInterleavedSlotCount() const { return 0; }

SmallVector<Value> RMSpropAttr::buildUpdate(OpBuilder &builder, Location loc, Value variable,
                                            Value gradient, ValueRange slots, Value rate,
                                            Value) const {
  Update u{builder, loc, elementTypeOf(variable)};
  Value rho = u.constant(getRho()), rest = u.constant(1 - getRho().getValueAsDouble());
  size_t next = 1;
  bool hasMomentum = getMomentum().getValueAsDouble() > 0;
  Value velocity = u.add(u.mul(rho, slots[0]), u.mul(rest, u.mul(gradient, gradient)));
  SmallVector<Value> results{Value(), velocity};
  Value momentumSlot = hasMomentum ? slots[next++] : Value();
  Value denominator = velocity, average;
  if (getCentered()) {
    average = u.add(u.mul(rho, slots[next]), u.mul(rest, gradient));
    denominator = u.sub(velocity, u.mul(average, average));
  }
  denominator = u.add(denominator, u.constant(getEpsilon()));
  Value increment = u.div(u.mul(rate, gradient), u.sqrt(denominator));
  if (hasMomentum) {
    increment = u.add(u.mul(u.constant(getMomentum()), momentumSlot), increment);
    results.push_back(increment);
  }
  if (getCentered())
    results.push_back(average);
  results[0] = u.sub(variable, increment);
  return results;
}

SmallVector<StringRef> AdamAttr::getSlotNames() const {
  if (getAmsgrad())
    return {"momentum", "velocity", "velocity_hat"};
  return {"momentum", "velocity"};
}

unsigned AdamAttr::getInterleavedSlotCount() const { return 2; }

SmallVector<Value> AdamAttr::buildUpdate(OpBuilder &builder, Location loc, Value variable,
                                         Value gradient, ValueRange slots, Value rate,
                                         Value iteration) const {
  Update u{builder, loc, elementTypeOf(variable)};
  double beta1 = getBeta_1().getValueAsDouble(), beta2 = getBeta_2().getValueAsDouble();
  Value one = u.constant(1.0);
  Value correction2 = u.sub(one, u.pow(u.constant(beta2), iteration));
  Value correction1 = u.sub(one, u.pow(u.constant(beta1), iteration));
  Value alpha = u.div(u.mul(rate, u.sqrt(correction2)), correction1);
  Value m = u.add(slots[0], u.mul(u.sub(gradient, slots[0]), u.constant(1 - beta1)));
  Value v =
      u.add(slots[1], u.mul(u.sub(u.mul(gradient, gradient), slots[1]), u.constant(1 - beta2)));
  SmallVector<Value> results{Value(), m, v};
  Value second = v;
  if (getAmsgrad()) {
    second = MaximumOp::create(builder, loc, slots[2], v);
    results.push_back(second);
  }
  Value denominator = u.add(u.sqrt(second), u.constant(getEpsilon()));
  results[0] = u.sub(variable, u.div(u.mul(m, alpha), denominator));
  return results;
}
