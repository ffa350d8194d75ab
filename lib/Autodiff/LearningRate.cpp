// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Learning-rate schedules as scalar float32 ops
// (keras/src/optimizers/schedules/learning_rate_schedule.py).
#include "dialects/mpc/IR/Arithmetic.h"
#include "lib/Autodiff/TrainStep.h"

#include <cmath>

using namespace mlir;
using namespace mpc;

namespace {
class Schedule {
public:
  Schedule(OpBuilder &builder, Location loc, DictionaryAttr config)
      : a{builder, loc, builder.getF32Type()}, config(config) {}

  /// The rate at `step`, or null for a class that is not known.
  Value build(Value step);

private:
  /// The entry as a number; booleans are 0 or 1.
  std::optional<double> number(Attribute attribute) {
    if (auto value = dyn_cast_or_null<FloatAttr>(attribute))
      return value.getValueAsDouble();
    if (auto value = dyn_cast_or_null<BoolAttr>(attribute))
      return value.getValue();
    if (auto value = dyn_cast_or_null<IntegerAttr>(attribute))
      return value.getValue().getSExtValue();
    return std::nullopt;
  }
  double number(StringRef key, double standard) {
    return number(config.get(key)).value_or(standard);
  }
  Value constant(StringRef key, double standard) { return a.constant(number(key, standard)); }

  Value exponential(Value step);
  Value piecewise(Value step);
  Value polynomial(Value step);
  Value inverseTime(Value step);
  Value cosine(Value step);
  Value cosineRestarts(Value step);
  /// ((1 - alpha) * 0.5 * amplitude * (1 + cos(pi * fraction)) + alpha) * rate
  Value decayed(Value rate, Value fraction, Value amplitude);

  Arithmetic a;
  DictionaryAttr config;
};
} // namespace

Value Schedule::exponential(Value step) {
  Value p = a.div(step, constant("decay_steps", 1));
  if (number("staircase", 0) != 0)
    p = a.floor(p);
  return a.mul(constant("initial_learning_rate", 0), a.power(constant("decay_rate", 1), p));
}

Value Schedule::piecewise(Value step) {
  auto boundaries = config.getAs<ArrayAttr>("boundaries"),
       values = config.getAs<ArrayAttr>("values");
  if (!boundaries || !values || values.size() != boundaries.size() + 1)
    return Value();
  Value rate = a.constant(number(values[boundaries.size()]).value_or(0));
  for (size_t i = boundaries.size(); i-- > 0;) {
    // Keras casts boundaries to the integer type of the step.
    double boundary = std::trunc(number(boundaries[i]).value_or(0));
    Value before = a.compare(ComparePredicate::LE, step, a.constant(boundary));
    rate = a.select(before, a.constant(number(values[i]).value_or(0)), rate);
  }
  return rate;
}

Value Schedule::polynomial(Value step) {
  Value steps = constant("decay_steps", 1);
  if (number("cycle", 0) != 0) {
    Value negative = NegateOp::create(a.builder, a.loc, a.div(step, steps));
    Value cycles = NegateOp::create(a.builder, a.loc, a.floor(negative)); // ceil
    Value first = a.compare(ComparePredicate::EQ, step, a.constant(0));
    steps = a.mul(steps, a.select(first, a.constant(1), cycles));
  } else {
    step = a.minimum(step, steps);
  }
  Value rest = a.sub(a.constant(1), a.div(step, steps));
  double end = number("end_learning_rate", 1e-4);
  Value range = a.sub(constant("initial_learning_rate", 0), a.constant(end));
  return a.add(a.mul(range, a.power(rest, constant("power", 1))), a.constant(end));
}

Value Schedule::inverseTime(Value step) {
  Value p = a.div(step, constant("decay_steps", 1));
  if (number("staircase", 0) != 0)
    p = a.floor(p);
  Value divisor = a.add(a.constant(1), a.mul(constant("decay_rate", 0), p));
  return a.div(constant("initial_learning_rate", 0), divisor);
}

Value Schedule::decayed(Value rate, Value fraction, Value amplitude) {
  Value angle = a.mul(a.constant(M_PI), fraction);
  Value wave = a.add(a.constant(1), CosOp::create(a.builder, a.loc, angle));
  Value half = a.constant(0.5);
  wave = a.mul(amplitude ? a.mul(half, amplitude) : half, wave);
  double alpha = number("alpha", 0);
  return a.mul(rate, a.add(a.mul(a.constant(1 - alpha), wave), a.constant(alpha)));
}

Value Schedule::cosine(Value step) {
  Value steps = constant("decay_steps", 1), initial = constant("initial_learning_rate", 0);
  if (!config.get("warmup_target"))
    return decayed(initial, a.div(a.minimum(step, steps), steps), Value());
  Value target = constant("warmup_target", 0), warmup = constant("warmup_steps", 0);
  step = a.minimum(step, a.add(steps, warmup));
  Value rising = a.add(a.mul(a.sub(target, initial), a.div(step, warmup)), initial);
  Value falling = decayed(target, a.div(a.sub(step, warmup), steps), Value());
  return a.select(a.compare(ComparePredicate::LT, step, warmup), rising, falling);
}

Value Schedule::cosineRestarts(Value step) {
  Value fraction = a.div(step, constant("first_decay_steps", 1));
  double factor = number("t_mul", 2);
  Value restart;
  if (factor == 1) {
    restart = a.floor(fraction);
    fraction = a.sub(fraction, restart);
  } else {
    Value one = a.constant(1), rest = a.constant(1 - factor);
    auto log = [&](Value x) -> Value { return LogOp::create(a.builder, a.loc, x); };
    restart = a.floor(a.div(log(a.sub(one, a.mul(fraction, rest))), log(a.constant(factor))));
    Value period = a.power(a.constant(factor), restart);
    fraction = a.div(a.sub(fraction, a.div(a.sub(one, period), rest)), period);
  }
  Value amplitude = a.power(constant("m_mul", 1), restart);
  return decayed(constant("initial_learning_rate", 0), fraction, amplitude);
}

Value Schedule::build(Value step) {
  auto name = config.getAs<StringAttr>("class_name");
  StringRef kind = name ? name.getValue() : "";
  if (kind == "ExponentialDecay")
    return exponential(step);
  if (kind == "PiecewiseConstantDecay")
    return piecewise(step);
  if (kind == "PolynomialDecay")
    return polynomial(step);
  if (kind == "InverseTimeDecay")
    return inverseTime(step);
  if (kind == "CosineDecay")
    return cosine(step);
  if (kind == "CosineDecayRestarts")
    return cosineRestarts(step);
  return Value();
}

FailureOr<Value> mpc::buildLearningRate(OpBuilder &builder, OptimizerOp optimizer, Value variable,
                                        Value iteration) {
  // Optimizers of OptimizerV2 and older decay the rate, whatever gives it.
  auto decayed = [&](Value rate) -> Value {
    if (!optimizer.getDecay())
      return rate;
    Arithmetic a{builder, optimizer.getLoc(), builder.getF32Type()};
    Value lost = a.mul(a.constant(optimizer.getDecay()->convertToDouble()), iteration);
    return a.div(rate, a.add(a.constant(1), lost));
  };
  std::optional<DictionaryAttr> config = optimizer.getSchedule();
  if (!config)
    return decayed(variable);
  Value rate = Schedule(builder, optimizer.getLoc(), *config).build(iteration);
  if (!rate)
    return optimizer.emitError()
               << "learning-rate schedule " << *config
               << " is not known or incomplete; use ExponentialDecay, PiecewiseConstantDecay, "
                  "PolynomialDecay, InverseTimeDecay, CosineDecay or CosineDecayRestarts",
           failure();
  return decayed(rate);
}
