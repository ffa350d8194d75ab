// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// @train_step in the order of keras/src/optimizers/base_optimizer.py. All arithmetic is float32
// (float64 for float64 variables); 16-bit variables are widened, updated and rounded once.
#include "lib/Autodiff/TrainStep.h"
#include "dialects/mpc/IR/Arithmetic.h"
#include "lib/Autodiff/TrainStages.h"
#include "mpc/Autodiff/ReverseMode.h"

using namespace mlir;
using namespace mpc;

namespace {

struct Parameter {
  VariableOp variable;
  Value start, value; // before the step, and so far
  Gradient gradient;  // its value is null when the loss does not depend on the variable
  ParameterState state;
  Value touched; // which elements take the update; null: all do

  FlatSymbolRefAttr symbol() { return FlatSymbolRefAttr::get(variable.getSymNameAttr()); }
};

class OptimizerApplication {
public:
  OptimizerApplication(EntryBuilder &entry, OptimizerOp optimizer, OptimizerState state)
      : entry(entry), builder(entry.builder), optimizer(optimizer), state(std::move(state)),
        loc(optimizer.getLoc()) {}

  LogicalResult apply(MutableArrayRef<Parameter> parameters, bool unscaleStatic);

  llvm::DenseMap<Value, Value> unscaled; // by marked gradient, with a static scale

private:
  void countSteps();
  void accumulate(Parameter &parameter);
  void overwrite(Parameter &parameter);
  void updateShared(int64_t index, int64_t count);
  void noteParts(Parameter &parameter, bool clips);
  void update(Parameter &parameter);
  FloatAttr decayOf(Parameter &parameter);
  Value startOf(Parameter &parameter);
  void average(Parameter &parameter);
  /// `count % divisor == 0` of whole numbers in float64, which is exact.
  Value isMultiple(Value count, int64_t divisor);
  Arithmetic arithmetic(Parameter &parameter) {
    return {builder, loc, widerOf32(elementTypeOf(parameter.value))};
  }

  EntryBuilder &entry;
  OpBuilder &builder;
  OptimizerOp optimizer;
  OptimizerState state;
  Location loc;
  Value rate;
  Value iterations;          // updates so far, float64
  Value updateNumber;        // iterations + 1, float32
  Value isUpdate;            // i1; null without gradient accumulation
  Value isFirst;             // i1; whether no call was counted; null until it is asked for
  Value nextIteration;       // int64
  SmallVector<Value> shared; // the latest values of the rule's shared scalars
};

} // namespace

Value OptimizerApplication::isMultiple(Value count, int64_t divisor) {
  Arithmetic a{builder, loc, builder.getF64Type()};
  Value by = a.constant(double(divisor));
  return a.compare(ComparePredicate::EQ, a.mul(a.floor(a.div(count, by)), by), count);
}

/// The raw counter counts calls; with accumulation `iterations` counts updates.
void OptimizerApplication::countSteps() {
  Arithmetic a{builder, loc, builder.getF64Type()};
  Value raw = a.widen(entry.variable(state.iteration));
  Value next = a.add(raw, a.constant(1));
  nextIteration = a.cast(next, builder.getI64Type());
  iterations = raw;
  if (auto steps = optimizer.getAccumulationSteps()) {
    isUpdate = isMultiple(next, *steps);
    iterations = a.floor(a.div(raw, a.constant(double(*steps))));
  }
  updateNumber = a.cast(a.add(iterations, a.constant(1)), builder.getF32Type());
}

void OptimizerApplication::accumulate(Parameter &parameter) {
  Arithmetic a = arithmetic(parameter);
  Value stored = entry.variable(parameter.state.accumulator);
  Value sum = a.add(a.widen(stored), parameter.gradient.value);
  parameter.gradient.value = a.div(sum, a.constant(double(*optimizer.getAccumulationSteps())));
  parameter.gradient.densify(); // the sum with the accumulator is
  Value zeros = ConstantOp::create(builder, loc, tensorTypeOf(sum), 0.0);
  entry.addUpdate(parameter.state.accumulator,
                  a.cast(a.select(isUpdate, zeros, sum), elementTypeOf(stored)));
}

/// Keras's _overwrite_variables_directly_with_gradients: with accumulation the largest of the
/// values, in the call that updates.
void OptimizerApplication::overwrite(Parameter &parameter) {
  Value &value = parameter.gradient.value;
  value = VariableGradientOp::create(builder, value.getLoc(), value, parameter.symbol());
  if (isUpdate) {
    Arithmetic a = arithmetic(parameter);
    Value largest = a.maximum(value, entry.variable(parameter.state.accumulator));
    Value zeros = ConstantOp::create(builder, loc, tensorTypeOf(value), 0.0);
    entry.addUpdate(parameter.state.accumulator, a.select(isUpdate, zeros, largest));
    value = a.select(isUpdate, largest, parameter.value);
  }
  entry.addUpdate(parameter.symbol(), value);
}

/// For the update of variable `index` of `count`; the last one's values are kept.
void OptimizerApplication::updateShared(int64_t index, int64_t count) {
  if (state.shared.empty())
    return;
  SmallVector<Value> old = llvm::map_to_vector(
      state.shared, [&](FlatSymbolRefAttr symbol) { return entry.variable(symbol); });
  Arithmetic a{builder, loc, elementTypeOf(old.front())};
  shared = cast<OptimizerRuleAttrInterface>(optimizer.getRule())
               .buildSharedUpdate(builder, loc, index == 0 ? old : shared, a.widen(updateNumber),
                                  index, count);
  if (index + 1 < count)
    return;
  for (auto [symbol, value, previous] : llvm::zip_equal(state.shared, shared, old))
    entry.addUpdate(symbol, isUpdate ? a.select(isUpdate, value, previous) : value);
}

/// Notes what clipping and the rule see of the rows that a gradient is made of.
void OptimizerApplication::noteParts(Parameter &parameter, bool clips) {
  RowGradients rows = optimizer.getRows().value_or(RowGradients::Each);
  if (rows == RowGradients::Touched && parameter.state.rule.getKeptRows() != KeptRows::None)
    parameter.touched = findTouched(arithmetic(parameter), parameter.gradient.parts);
  const bool takesPowers =
      rows == RowGradients::Each && parameter.state.rule.getPowerOfParts() != 0;
  if (rows == RowGradients::Dense || (!clips && !takesPowers))
    parameter.gradient.densify();
}

/// Null: the variable takes no weight decay.
FloatAttr OptimizerApplication::decayOf(Parameter &parameter) {
  if (auto excluded = optimizer.getUndecayed();
      excluded && llvm::is_contained(*excluded, parameter.symbol()))
    return FloatAttr();
  return cast<OptimizerRuleAttrInterface>(optimizer.getRule())
      .getWeightDecayFor(parameter.variable.getSymName(),
                         cast<RankedTensorType>(parameter.variable.getType()),
                         optimizer.getWeightDecayAttr());
}

/// Whether this is the first call, for slots that start as the variable: a call may constrain that
/// without updating it. Null: there are none.
Value OptimizerApplication::startOf(Parameter &parameter) {
  auto type = cast<RankedTensorType>(parameter.variable.getType());
  if (!anyStartsAsVariable(parameter.state.rule.getSlots(type)))
    return Value();
  if (!isFirst) {
    Arithmetic count{builder, loc, builder.getF64Type()};
    isFirst = count.compare(ComparePredicate::EQ, count.widen(entry.variable(state.iteration)),
                            count.constant(0));
  }
  return isFirst;
}

/// Weight decay and the rule, in one step.
void OptimizerApplication::update(Parameter &parameter) {
  SmallVector<Value> slots;
  SmallVector<Type> types{parameter.value.getType()};
  for (FlatSymbolRefAttr slot : parameter.state.slots) {
    slots.push_back(entry.variable(slot));
    types.push_back(slots.back().getType());
  }
  Value powers;
  if (unsigned power = parameter.state.rule.getPowerOfParts();
      power && !parameter.gradient.parts.empty() &&
      optimizer.getRows().value_or(RowGradients::Each) == RowGradients::Each)
    powers = sumPowers(arithmetic(parameter), parameter.gradient.parts, power);
  auto step =
      OptimizerStepOp::create(builder, parameter.variable.getLoc(), types, parameter.value,
                              parameter.gradient.value, powers, slots, shared, rate, updateNumber,
                              /*unscale=*/Value(), /*predicate=*/isUpdate, startOf(parameter),
                              parameter.state.rule, decayOf(parameter));
  Arithmetic a = arithmetic(parameter);
  auto touched = [&](Value value, Value old) {
    return parameter.touched ? a.select(parameter.touched, value, old) : value;
  };
  const bool keepsSlots = parameter.state.rule.getKeptRows() == KeptRows::VariableAndSlots;
  parameter.value = touched(step.getResult(0), parameter.value);
  for (auto [slot, value, result] :
       llvm::zip_equal(parameter.state.slots, slots, step.getResults().drop_front()))
    entry.addUpdate(slot, keepsSlots ? touched(result, value) : Value(result));
}

/// use_ema: the first update copies, or averages with what the variable was before it; overwriting
/// happens every ema_overwrite_frequency updates.
void OptimizerApplication::average(Parameter &parameter) {
  Arithmetic a = arithmetic(parameter);
  Arithmetic count{builder, loc, builder.getF64Type()};
  Value first = count.compare(ComparePredicate::EQ, iterations, count.constant(0));
  Value momentum = a.constant(optimizer.getEmaMomentum()->convertToDouble());
  Value stored = entry.variable(parameter.state.average), value = a.widen(parameter.value);
  Value last = a.widen(stored);
  if (optimizer.getAverageFromVariable())
    last = a.select(first, a.widen(parameter.start), last);
  else
    momentum = a.select(first, a.constant(0), momentum);
  Value next = a.add(a.mul(momentum, last), a.mul(a.sub(a.constant(1), momentum), value));
  entry.addUpdate(parameter.state.average, a.cast(next, elementTypeOf(stored)));
  if (auto frequency = optimizer.getEmaOverwriteFrequency())
    parameter.value =
        a.select(isMultiple(count.add(iterations, count.constant(1)), *frequency), next, value);
}

LogicalResult OptimizerApplication::apply(MutableArrayRef<Parameter> parameters,
                                          bool unscaleStatic) {
  countSteps();
  Value counter = CastOp::create(builder, loc, RankedTensorType::get({}, builder.getF32Type()),
                                 entry.variable(state.iteration));
  auto built =
      buildLearningRate(builder, optimizer,
                        state.learningRate ? entry.variable(state.learningRate) : Value(), counter);
  if (failed(built))
    return failure();
  rate = *built;
  entry.addOutput("learning_rate", rate);
  bool clips = optimizer.getClipnorm() || optimizer.getGlobalClipnorm() || optimizer.getClipvalue();
  SmallVector<Parameter *> updated;
  for (Parameter &parameter : parameters) {
    if (!parameter.gradient.value)
      continue;
    if (isOverwritten(parameter.variable))
      overwrite(parameter);
    else
      updated.push_back(&parameter);
  }
  for (Parameter *parameter : updated) {
    Value &gradient = parameter->gradient.value;
    noteParts(*parameter, clips);
    auto mark = [&](Value value) -> Value {
      return VariableGradientOp::create(builder, value.getLoc(), value, parameter->symbol());
    };
    // Keras's static scale divides dense gradients only.
    if (unscaleStatic)
      parameter->gradient.densify();
    gradient = mark(gradient);
    Value marked = gradient;
    if (clips || isUpdate || unscaleStatic)
      gradient = arithmetic(*parameter).widen(gradient);
    if (unscaleStatic) {
      Arithmetic a = arithmetic(*parameter);
      gradient = a.div(gradient, a.constant(optimizer.getStaticScale()->convertToDouble()));
      unscaled[marked] = gradient;
    }
    if (isUpdate)
      accumulate(*parameter);
    for (GradientPart &part : parameter->gradient.parts)
      part.values = mark(part.values);
  }
  if (clips && !updated.empty()) {
    SmallVector<Gradient *> gradients =
        llvm::map_to_vector(updated, [](Parameter *p) { return &p->gradient; });
    clipGradients(builder, optimizer, gradients);
  }
  auto rule = cast<OptimizerRuleAttrInterface>(optimizer.getRule());
  const bool renewsOften = rule.renewsSharedPerVariable();
  for (auto [i, parameter] : llvm::enumerate(updated)) {
    if (renewsOften)
      updateShared(int64_t(i), int64_t(updated.size()));
    else if (i == 0)
      updateShared(0, 1);
    update(*parameter);
  }
  for (Parameter &parameter : parameters) {
    if (isOverwritten(parameter.variable))
      continue;
    Value before = parameter.value;
    if (optimizer.getEmaMomentum())
      average(parameter);
    // Keras constrains every variable that it was given a gradient for, after averaging, in every
    // call.
    if (auto constraint = parameter.variable.getConstraint();
        constraint && parameter.gradient.value)
      parameter.value = constrain(builder, parameter.variable.getLoc(), *constraint,
                                  arithmetic(parameter).widen(parameter.value));
    if (!parameter.gradient.value && parameter.value == before)
      continue;
    auto type = cast<RankedTensorType>(parameter.variable.getType());
    entry.addUpdate(parameter.symbol(),
                    arithmetic(parameter).cast(parameter.value, type.getElementType()));
  }
  if (!parameters.empty()) // without trainable variables Keras does not call the optimizer
    entry.addUpdate(state.iteration, nextIteration);
  return success();
}

/// Random state that the forward pass reads and does not itself advance.
static void advanceRandomState(EntryBuilder &entry, TrainedModel &model,
                               const TrainedModel::Copy &copy) {
  for (unsigned i = 0; i < model.forward.getNumArguments(); ++i) {
    auto symbol = model.forward.getArgAttrOfType<FlatSymbolRefAttr>(i, MpcDialect::kVariableAttr);
    if (!symbol || model.forward.getArgument(i).use_empty() ||
        llvm::any_of(copy.updates, [&](const NamedValue &update) { return update.name == symbol; }))
      continue;
    if (entry.declarationOf(symbol).getRole() == VariableRole::Random)
      entry.addUpdate(symbol, RandomAdvanceOp::create(entry.builder, model.forward.getLoc(),
                                                      entry.variable(symbol)));
  }
}

/// Says how many calls make an update: the counter counts calls, Keras's public one updates.
static void addAccumulationSteps(func::FuncOp step, int64_t steps) {
  unsigned index = 0;
  while (index < step.getNumResults() && step.getResultAttr(index, MpcDialect::kOutputAttr))
    ++index;
  Operation *terminator = step.getBody().front().getTerminator();
  OpBuilder builder(terminator);
  Value count = scalarConstant(builder, step.getLoc(), builder.getI64Type(), double(steps));
  (void)step.insertResult(
      index, count.getType(),
      builder.getDictionaryAttr(builder.getNamedAttr(MpcDialect::kOutputAttr,
                                                     builder.getStringAttr("accumulation_steps"))));
  terminator->insertOperands(index, count);
}

/// Kernels of integers, as Keras keeps them in quantized layers, get no gradient. That is what fine
/// tuning by LoRA wants, of which the layer then has factors; else it may not be what was meant.
static void warnOfIntegers(ModuleOp module, OptimizerOp optimizer) {
  llvm::SmallSetVector<StringRef, 8> plain;
  auto isFactor = [](VariableOp variable) {
    return variable.getSymName().rsplit('/').second.starts_with("lora_");
  };
  for (VariableOp variable : module.getOps<VariableOp>())
    if (variable.getLayer() && variable.getType().getElementType().isInteger(8))
      plain.insert(*variable.getLayer());
  for (VariableOp variable : module.getOps<VariableOp>())
    if (variable.getLayer() && isFactor(variable))
      plain.remove(*variable.getLayer());
  if (!plain.empty())
    optimizer.emitWarning() << "training leaves the integer kernels of " << plain.size()
                            << " quantized layers as they are (" << plain.front()
                            << (plain.size() > 1 ? ", ..." : "")
                            << "); to train them, use a floating policy, float8 or LoRA";
}

LogicalResult mpc::buildTrainStep(ModuleOp module, TrainedModel &model, OptimizerOp optimizer,
                                  bool inStages) {
  EntryBuilder entry(module, EntryRole::TrainStep, model.forward.getLoc());
  OpBuilder &builder = entry.builder;
  model.addArguments(entry, /*withTargets=*/true);
  auto copy = model.emit(entry, Mode::Training, /*withLoss=*/true);
  if (failed(copy))
    return failure();
  SmallVector<VariableOp> trainable;
  for (VariableOp variable : module.getOps<VariableOp>())
    if (variable.getRole() == VariableRole::Trainable)
      trainable.push_back(variable);
  SmallVector<Value> independents, gradients;
  for (VariableOp variable : trainable)
    independents.push_back(entry.variable(FlatSymbolRefAttr::get(variable.getSymNameAttr())));
  auto seed = GradientSeedOp::create(builder, copy->loss.getLoc(), copy->loss.getType());
  // A LossScaleOptimizer clears the static scale of the optimizer inside it.
  bool isStatic = optimizer.getStaticScale() && module.getOps<LossScaleOp>().empty();
  Value cotangent = seed;
  if (isStatic) {
    Arithmetic a{builder, seed.getLoc(), builder.getF32Type()};
    cotangent = a.mul(seed, a.constant(optimizer.getStaticScale()->convertToDouble()));
  }
  if (failed(buildGradients(builder, copy->loss, cotangent, independents, gradients)))
    return failure();
  warnOfIntegers(module, optimizer);
  if (trainable.empty())
    optimizer.emitWarning()
        << "the model has no trainable variables; training only updates metrics";
  else if (llvm::none_of(gradients, [](Value gradient) { return bool(gradient); }))
    return optimizer.emitError()
           << "no trainable variable influences the loss; there is nothing to train";
  shareEqualValues(seed);
  recomputeCheapValues(seed);
  remarkSavedValues(seed);
  entry.addOutput("loss", copy->loss);
  OptimizerState state = declareOptimizerVariables(module, optimizer, trainable);
  SmallVector<Parameter> parameters;
  for (auto [i, variable] : llvm::enumerate(trainable)) {
    Value value = copy->trainedValue(entry, FlatSymbolRefAttr::get(variable.getSymNameAttr()));
    parameters.push_back(
        {variable,
         value,
         value,
         {gradients[i], gradients[i] ? findParts(gradients[i]) : SmallVector<GradientPart>()},
         state.parameters[i],
         /*touched=*/Value()});
  }
  OptimizerApplication application(entry, optimizer, std::move(state));
  if (failed(application.apply(parameters, isStatic)))
    return failure();
  // A variable that the optimizer has updated starts from the forward pass's new value already.
  llvm::DenseSet<Attribute> optimized;
  for (auto [variable, gradient] : llvm::zip_equal(trainable, gradients))
    if (gradient)
      optimized.insert(FlatSymbolRefAttr::get(variable.getSymNameAttr()));
  for (NamedValue update : llvm::concat<NamedValue>(copy->updates, copy->metricUpdates))
    if (!optimized.contains(update.name))
      entry.addUpdate(cast<FlatSymbolRefAttr>(update.name), update.value);
  advanceRandomState(entry, model, *copy);
  for (NamedValue output : copy->outputs)
    entry.addOutput(cast<StringAttr>(output.name), output.value);
  entry.finish();
  if (inStages && failed(buildTrainStages(
                      module, {entry.function, seed, cotangent, std::move(application.unscaled)})))
    return failure();
  dropPredictions(entry.function);
  if (auto steps = optimizer.getAccumulationSteps())
    addAccumulationSteps(entry.function, *steps);
  return success();
}
