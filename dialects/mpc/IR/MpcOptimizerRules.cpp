// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Update rules of SGD, RMSprop and the Adam family, as mpc ops in float32: update_step() of the
// classes in keras/src/optimizers.
#include "dialects/mpc/IR/OptimizerUpdate.h"

#include <cmath>

using namespace mlir;
using namespace mpc;

SmallVector<OptimizerSlot> SGDAttr::getSlots(RankedTensorType variable) const {
  if (getMomentum().getValueAsDouble() == 0)
    return {};
  return {{"momentum", variable}};
}

SmallVector<Value> SGDAttr::buildUpdate(OpBuilder &builder, Location loc, Value variable,
                                        Value gradient, Value, ValueRange slots, ValueRange,
                                        Value rate, Value) const {
  OptimizerUpdate u{builder, loc, elementTypeOf(variable)};
  Value step = u.mul(gradient, rate);
  if (slots.empty())
    return {u.sub(variable, step)};
  Value momentum = u.constant(getMomentum());
  Value velocity = u.sub(u.mul(slots[0], momentum), step);
  Value next = getNesterov() ? u.add(variable, u.sub(u.mul(velocity, momentum), step))
                             : u.add(variable, velocity);
  return {next, velocity};
}

unsigned SGDAttr::getPowerOfParts() const { return 0; }

KeptRows SGDAttr::getKeptRows() const { return KeptRows::VariableAndSlots; }

SmallVector<OptimizerSlot> RMSpropAttr::getSlots(RankedTensorType variable) const {
  SmallVector<OptimizerSlot> slots{{"velocity", variable}};
  if (getMomentum().getValueAsDouble() > 0)
    slots.push_back({"momentum", variable});
  if (getCentered())
    slots.push_back({"average_gradient", variable});
  return slots;
}

unsigned RMSpropAttr::getInterleavedSlotCount() const { return 0; }

SmallVector<Value> RMSpropAttr::buildUpdate(OpBuilder &builder, Location loc, Value variable,
                                            Value gradient, Value powers, ValueRange slots,
                                            ValueRange, Value rate, Value) const {
  OptimizerUpdate u{builder, loc, elementTypeOf(variable)};
  Value rho = u.constant(getRho()), rest = u.rest(getRho());
  size_t next = 1;
  bool hasMomentum = getMomentum().getValueAsDouble() > 0;
  Value velocity = u.add(u.mul(rho, slots[0]), u.mul(rest, u.squareOf(gradient, powers)));
  SmallVector<Value> results{Value(), velocity};
  Value momentumSlot = hasMomentum ? slots[next++] : Value();
  Value denominator = velocity, average;
  if (getCentered()) {
    average = u.add(u.mul(rho, slots[next]), u.mul(rest, gradient));
    denominator = u.sub(velocity, u.mul(average, average));
  }
  Value epsilon = u.constant(getEpsilon());
  denominator = getEpsilonBesideRoot() ? u.add(u.sqrt(denominator), epsilon)
                                       : u.sqrt(u.add(denominator, epsilon));
  Value increment = u.div(u.mul(rate, gradient), denominator);
  if (hasMomentum) {
    increment = u.add(u.mul(u.constant(getMomentum()), momentumSlot), increment);
    results.push_back(increment);
  }
  if (getCentered())
    results.push_back(average);
  results[0] = u.sub(variable, increment);
  return results;
}

/// TensorFlow has a kernel for rows with momentum alone; without it a row that has no gradient
/// gets no step, and its averages decay.
KeptRows RMSpropAttr::getKeptRows() const {
  return getMomentum().getValueAsDouble() > 0 ? KeptRows::VariableAndSlots : KeptRows::None;
}

/// momentum and velocity, as Adam, Nadam and Lamb keep them.
static SmallVector<OptimizerSlot> momentSlots(RankedTensorType variable) {
  return {{"momentum", variable}, {"velocity", variable}};
}

SmallVector<OptimizerSlot> AdamAttr::getSlots(RankedTensorType variable) const {
  SmallVector<OptimizerSlot> slots = momentSlots(variable);
  if (getAmsgrad())
    slots.push_back({"velocity_hat", variable});
  return slots;
}

unsigned AdamAttr::getInterleavedSlotCount() const { return 2; }

SmallVector<Value> AdamAttr::buildUpdate(OpBuilder &builder, Location loc, Value variable,
                                         Value gradient, Value powers, ValueRange slots, ValueRange,
                                         Value rate, Value iteration) const {
  OptimizerUpdate u{builder, loc, elementTypeOf(variable)};
  if (getRateScale())
    rate = u.mul(rate, u.constant(getRateScale()));
  Value alpha = u.div(u.mul(rate, u.sqrt(u.correction(getBeta_2(), iteration))),
                      u.correction(getBeta_1(), iteration));
  Value m = u.decayed(slots[0], gradient, getBeta_1());
  Value v = u.decayed(slots[1], u.squareOf(gradient, powers), getBeta_2());
  SmallVector<Value> results{Value(), m, v};
  Value second = v;
  if (getAmsgrad()) {
    second = u.maximum(slots[2], v);
    results.push_back(second);
  }
  Value denominator = u.add(u.sqrt(second), u.constant(getEpsilon()));
  results[0] = u.sub(variable, u.div(u.mul(m, alpha), denominator));
  return results;
}

SmallVector<OptimizerSlot> AdamaxAttr::getSlots(RankedTensorType variable) const {
  return {{"momentum", variable}, {"norm", variable}};
}

SmallVector<Value> AdamaxAttr::buildUpdate(OpBuilder &builder, Location loc, Value variable,
                                           Value gradient, Value powers, ValueRange slots,
                                           ValueRange, Value rate, Value iteration) const {
  OptimizerUpdate u{builder, loc, elementTypeOf(variable)};
  Value m = u.decayed(slots[0], gradient, getBeta_1());
  Value norm =
      u.maximum(u.mul(u.constant(getBeta_2()), slots[1]), powers ? powers : u.abs(gradient));
  Value divisor =
      u.mul(u.correction(getBeta_1(), iteration), u.add(norm, u.constant(getEpsilon())));
  return {u.sub(variable, u.div(u.mul(rate, m), divisor)), m, norm};
}

unsigned AdamaxAttr::getPowerOfParts() const { return 1; }

KeptRows AdamaxAttr::getKeptRows() const { return KeptRows::VariableAndSlots; }

SmallVector<OptimizerSlot> NadamAttr::getSlots(RankedTensorType variable) const {
  return momentSlots(variable);
}

/// Keras creates the product without a name; "variable" is what it is called then.
SmallVector<OptimizerScalar> NadamAttr::getSharedScalars() const { return {{"variable", 1.0}}; }

KeptRows NadamAttr::getKeptRows() const { return KeptRows::Variable; }

bool NadamAttr::renewsSharedPerVariable() const { return getProductPerVariable(); }

/// The momentum decays by this in each step.
constexpr double kNadamBase = 0.96;

/// beta_1 * (1 - 0.5 * 0.96^(schedule_decay * step)), the coefficient of a step.
static Value nadamCoefficient(OptimizerUpdate &u, NadamAttr rule, Value step) {
  if (FloatAttr decay = rule.getScheduleDecay())
    step = u.mul(u.constant(decay), step);
  Value power = u.pow(u.constant(kNadamBase), step);
  return u.mul(u.constant(rule.getBeta_1()), u.sub(u.constant(1), u.mul(u.constant(0.5), power)));
}

SmallVector<Value> NadamAttr::buildSharedUpdate(OpBuilder &builder, Location loc, ValueRange shared,
                                                Value iteration, int64_t index,
                                                int64_t count) const {
  OptimizerUpdate u{builder, loc, elementTypeOf(shared[0])};
  Value product = u.mul(shared[0], nadamCoefficient(u, *this, iteration));
  if (getProductPerVariable())
    product = u.select(ComparePredicate::EQ, iteration, u.constant(double(count + index)),
                       shared[0], product);
  return {product};
}

SmallVector<double> NadamAttr::getSharedAfter(int64_t updates, int64_t count) const {
  const double beta = getBeta_1().getValueAsDouble(),
               decay = getScheduleDecay() ? getScheduleDecay().getValueAsDouble() : 1;
  double product = 1;
  // Long before the bound it is 0, or as good as constant in float32.
  constexpr int64_t kMost = 1 << 20;
  for (int64_t t = 1; t <= std::min(updates, kMost) && product > 0; ++t) {
    const double factor = beta * (1 - 0.5 * std::pow(kNadamBase, decay * double(t)));
    const int64_t factors =
        getProductPerVariable() ? count - (t >= count && t < 2 * count ? 1 : 0) : 1;
    product *= std::pow(factor, double(factors));
  }
  return {product};
}

SmallVector<Value> NadamAttr::buildUpdate(OpBuilder &builder, Location loc, Value variable,
                                          Value gradient, Value powers, ValueRange slots,
                                          ValueRange shared, Value rate, Value iteration) const {
  OptimizerUpdate u{builder, loc, elementTypeOf(variable)};
  Value one = u.constant(1), product = shared[0];
  Value now = nadamCoefficient(u, *this, iteration),
        next = nadamCoefficient(u, *this, u.add(iteration, one));
  Value m = u.decayed(slots[0], gradient, getBeta_1());
  Value v = u.decayed(slots[1], u.squareOf(gradient, powers), getBeta_2());
  Value estimate = u.add(u.div(u.mul(next, m), u.sub(one, u.mul(product, next))),
                         u.div(u.mul(u.sub(one, now), gradient), u.sub(one, product)));
  Value second = u.div(v, u.correction(getBeta_2(), iteration));
  Value divisor = u.add(u.sqrt(second), u.constant(getEpsilon()));
  return {u.sub(variable, u.div(u.mul(estimate, rate), divisor)), m, v};
}

SmallVector<OptimizerSlot> LambAttr::getSlots(RankedTensorType variable) const {
  return momentSlots(variable);
}

SmallVector<Value> LambAttr::buildUpdate(OpBuilder &builder, Location loc, Value variable,
                                         Value gradient, Value powers, ValueRange slots, ValueRange,
                                         Value rate, Value iteration) const {
  OptimizerUpdate u{builder, loc, elementTypeOf(variable)};
  Value m = u.decayed(slots[0], gradient, getBeta_1());
  Value v = u.decayed(slots[1], u.squareOf(gradient, powers), getBeta_2());
  Value first = u.div(m, u.correction(getBeta_1(), iteration));
  Value second = u.sqrt(u.div(v, u.correction(getBeta_2(), iteration)));
  Value update = u.div(first, u.add(second, u.constant(getEpsilon())));
  auto norm = [&](Value value) { return u.sqrt(u.reduceAll(ReduceKind::Sum, u.square(value))); };
  Value own = norm(variable), length = norm(update), zero = u.constant(0), one = u.constant(1);
  Value ratio = u.select(ComparePredicate::GT, length, zero, u.div(own, length), one);
  ratio = u.select(ComparePredicate::GT, own, zero, ratio, one);
  return {u.sub(variable, u.mul(u.mul(ratio, rate), update)), m, v};
}
