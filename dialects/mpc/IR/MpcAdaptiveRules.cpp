// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Update rules of Adagrad, Adadelta, Ftrl, Lion and Adafactor, as mpc ops in float32: update_step()
// of the classes in keras/src/optimizers.
#include "dialects/mpc/IR/OptimizerUpdate.h"

using namespace mlir;
using namespace mpc;

SmallVector<OptimizerSlot> AdagradAttr::getSlots(RankedTensorType variable) const {
  return {{"accumulator", variable, getInitialAccumulatorValue().getValueAsDouble()}};
}

SmallVector<Value> AdagradAttr::buildUpdate(OpBuilder &builder, Location loc, Value variable,
                                            Value gradient, Value powers, ValueRange slots,
                                            ValueRange, Value rate, Value) const {
  OptimizerUpdate u{builder, loc, elementTypeOf(variable)};
  Value accumulator = u.add(slots[0], u.squareOf(gradient, powers));
  Value epsilon = u.constant(getEpsilon());
  Value divisor = getEpsilonBesideRoot() ? u.add(u.sqrt(accumulator), epsilon)
                                         : u.sqrt(u.add(accumulator, epsilon));
  return {u.sub(variable, u.div(u.mul(rate, gradient), divisor)), accumulator};
}

SmallVector<OptimizerSlot> AdadeltaAttr::getSlots(RankedTensorType variable) const {
  return {{"accumulated_grad", variable}, {"accumulated_delta_var", variable}};
}

SmallVector<Value> AdadeltaAttr::buildUpdate(OpBuilder &builder, Location loc, Value variable,
                                             Value gradient, Value powers, ValueRange slots,
                                             ValueRange, Value rate, Value) const {
  OptimizerUpdate u{builder, loc, elementTypeOf(variable)};
  Value rho = u.constant(getRho()), rest = u.rest(getRho()), epsilon = u.constant(getEpsilon());
  auto averaged = [&](Value average, Value square) {
    return u.add(u.mul(rho, average), u.mul(rest, square));
  };
  auto root = [&](Value value) { return u.sqrt(u.add(value, epsilon)); };
  Value accumulated = averaged(slots[0], u.squareOf(gradient, powers));
  Value above = root(slots[1]), below = root(accumulated);
  Value delta = NegateOp::create(builder, loc, u.div(u.mul(above, gradient), below));
  // Each part of the gradient gives a part of the change.
  Value square = powers ? u.mul(powers, u.square(u.div(above, below))) : u.square(delta);
  return {u.add(variable, u.mul(rate, delta)), accumulated, averaged(slots[1], square)};
}

KeptRows AdadeltaAttr::getKeptRows() const { return KeptRows::VariableAndSlots; }

SmallVector<OptimizerSlot> FtrlAttr::getSlots(RankedTensorType variable) const {
  return {{"accumulator", variable, getInitialAccumulatorValue().getValueAsDouble()},
          {"linear", variable}};
}

SmallVector<Value> FtrlAttr::buildUpdate(OpBuilder &builder, Location loc, Value variable,
                                         Value gradient, Value powers, ValueRange slots, ValueRange,
                                         Value rate, Value) const {
  OptimizerUpdate u{builder, loc, elementTypeOf(variable)};
  double l1 = getL1().getValueAsDouble(), l2 = getL2().getValueAsDouble();
  double exponent = -getLearningRatePower().getValueAsDouble();
  auto power = [&](Value value) {
    return exponent == 0.5 ? u.sqrt(value) : u.pow(value, u.constant(exponent));
  };
  Value shrunk = gradient;
  if (double shrinkage = getL2Shrinkage().getValueAsDouble())
    shrunk = u.add(gradient, u.mul(u.constant(2 * shrinkage), variable));
  Value accumulator = u.add(slots[0], u.squareOf(gradient, powers));
  Value grown = power(accumulator);
  Value sigma = u.div(u.sub(grown, power(slots[0])), rate);
  Value linear = u.add(slots[1], u.sub(shrunk, u.mul(sigma, variable)));
  Value penalty = u.constant(2 * l2);
  if (double beta = getBeta().getValueAsDouble())
    penalty = u.add(penalty, u.div(u.constant(beta), rate)); // 2 * (l2 + beta / (2 * rate))
  Value quadratic = u.add(u.div(grown, rate), penalty);
  Value clipped = u.maximum(u.minimum(linear, u.constant(l1)), u.constant(-l1));
  return {u.div(u.sub(clipped, linear), quadratic), accumulator, linear};
}

KeptRows FtrlAttr::getKeptRows() const { return KeptRows::VariableAndSlots; }

SmallVector<OptimizerSlot> LionAttr::getSlots(RankedTensorType variable) const {
  return {{"momentum", variable}};
}

SmallVector<Value> LionAttr::buildUpdate(OpBuilder &builder, Location loc, Value variable,
                                         Value gradient, Value, ValueRange slots, ValueRange,
                                         Value rate, Value) const {
  OptimizerUpdate u{builder, loc, elementTypeOf(variable)};
  auto mixed = [&](FloatAttr beta) {
    return u.add(u.mul(slots[0], u.constant(beta)), u.mul(gradient, u.rest(beta)));
  };
  Value direction = SignOp::create(builder, loc, mixed(getBeta_1()));
  return {u.sub(variable, u.mul(rate, direction)), mixed(getBeta_2())};
}

unsigned LionAttr::getPowerOfParts() const { return 0; }

SmallVector<OptimizerSlot> AdafactorAttr::getSlots(RankedTensorType variable) const {
  if (variable.getRank() < 2) {
    auto scalar = RankedTensorType::get({}, variable.getElementType());
    return {{"r", scalar, 0, true}, {"c", scalar, 0, true}, {"velocity", variable}};
  }
  SmallVector<int64_t> rows(variable.getShape().drop_back()), columns(rows);
  columns.back() = variable.getShape().back();
  return {{"r", RankedTensorType::get(rows, variable.getElementType())},
          {"c", RankedTensorType::get(columns, variable.getElementType())},
          {"velocity", variable}};
}

SmallVector<Value> AdafactorAttr::buildUpdate(OpBuilder &builder, Location loc, Value variable,
                                              Value gradient, Value powers, ValueRange slots,
                                              ValueRange, Value rate, Value iteration) const {
  OptimizerUpdate u{builder, loc, elementTypeOf(variable)};
  int64_t rank = tensorTypeOf(variable).getRank();
  Value one = u.constant(1);
  auto rms = [&](Value square) { return u.sqrt(u.reduceAll(ReduceKind::Mean, square)); };
  Value rho = u.minimum(rate, u.div(one, u.sqrt(iteration)));
  Value alpha = u.mul(u.maximum(u.constant(getEpsilon_2()), rms(u.square(variable))), rho);
  Value square = u.add(u.squareOf(gradient, powers), u.constant(getEpsilon_1()));
  Value beta = u.sub(one, u.pow(iteration, u.constant(getBeta_2Decay())));
  auto averaged = [&](Value average, Value value) {
    return u.add(u.mul(beta, average), u.mul(u.sub(one, beta), value));
  };
  SmallVector<Value> results{Value()};
  if (rank >= 2) {
    Value r = averaged(slots[0], u.reduce(ReduceKind::Mean, square, {rank - 1}));
    Value c = averaged(slots[1], u.reduce(ReduceKind::Mean, square, {rank - 2}));
    auto unsqueezed = [&](Value value, int64_t axis) -> Value {
      SmallVector<int64_t> shape(tensorTypeOf(variable).getShape());
      shape[axis] = 1;
      return ReshapeOp::create(builder, loc, RankedTensorType::get(shape, u.element), value);
    };
    Value share = u.div(r, u.reduce(ReduceKind::Mean, r, {rank - 2}, /*keepDims=*/true));
    Value velocity = u.mul(unsqueezed(share, rank - 1), unsqueezed(c, rank - 2));
    results.append({r, c, velocity});
  } else {
    results.append({slots[0], slots[1], averaged(slots[2], square)});
  }
  Value update = u.div(gradient, u.sqrt(results.back()));
  Value length = rms(powers ? u.div(powers, results.back()) : u.square(update));
  Value excess = u.maximum(one, u.div(length, u.constant(getClipThreshold())));
  results[0] = u.sub(variable, u.mul(alpha, u.div(update, excess)));
  return results;
}
