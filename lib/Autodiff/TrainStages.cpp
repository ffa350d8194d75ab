// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// @train_forward, @train_backward and @train_apply. They are copies of the step's own ops, so that
// the same kernels come of them and the same bytes.
#include "lib/Autodiff/TrainStages.h"
#include "dialects/mpc/IR/Arithmetic.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace mpc;

namespace {

enum Stage { Forward, Backward, Apply, StageCount };

class StepSplitter {
public:
  StepSplitter(ModuleOp module, const TrainStepParts &step)
      : module(module), symbols(module), step(step), function(step.function),
        body(function.getBody().front()) {}

  LogicalResult run();

private:
  Operation *seed() { return const_cast<GradientSeedOp &>(step.seed).getOperation(); }
  bool isForwardResult(unsigned index);
  void assign(Value value, Stage stage);
  LogicalResult classify();
  bool isDerived(Value value);
  Value at(Value value, Stage stage);
  Value keep(Value value, Stage from, Stage to);
  void copy(Operation *op, Stage stage);
  void copyAll(Stage stage);
  void addGradients();
  void addResults(Stage stage);

  ModuleOp module;
  SymbolTable symbols;
  const TrainStepParts &step;
  func::FuncOp function;
  Block &body;
  SmallVector<VariableGradientOp> markers;
  llvm::DenseMap<Operation *, Stage> stages;
  llvm::DenseSet<Attribute> renewed; // variables that the forward pass has changed
  std::optional<EntryBuilder> entries[StageCount];
  IRMapping values[StageCount];
  llvm::DenseMap<Value, unsigned> kept;
  llvm::DenseMap<Operation *, Value> gradients; // by marker: the argument of the last stage
};

} // namespace

/// Whether the output of a step is one of the model's: steps add two of their own.
static bool isPrediction(StringRef output) { return output != "loss" && output != "learning_rate"; }

/// The values that an op and the ops inside it read.
static llvm::SetVector<Value> valuesReadBy(Operation *op) {
  llvm::SetVector<Value> values(op->operand_begin(), op->operand_end());
  getUsedValuesDefinedAbove(op->getRegions(), values);
  return values;
}

/// Outputs of the forward pass, and what it changes whatever the gradients are.
bool StepSplitter::isForwardResult(unsigned index) {
  if (auto name = function.getResultAttrOfType<StringAttr>(index, MpcDialect::kOutputAttr))
    return name.getValue() == "loss" || isPrediction(name.getValue());
  auto symbol = function.getResultAttrOfType<FlatSymbolRefAttr>(index, MpcDialect::kUpdatesAttr);
  VariableRole role = symbols.lookup<VariableOp>(symbol.getAttr()).getRole();
  return role != VariableRole::Trainable && role != VariableRole::Optimizer;
}

/// Gives `stage` to all that `value` depends on and that no earlier stage has.
void StepSplitter::assign(Value value, Stage stage) {
  SmallVector<Value> open{value};
  while (!open.empty()) {
    Operation *op = open.pop_back_val().getDefiningOp();
    if (op && stages.try_emplace(op, stage).second)
      llvm::append_range(open, valuesReadBy(op));
  }
}

LogicalResult StepSplitter::classify() {
  Operation *terminator = body.getTerminator();
  for (Operation &op : llvm::make_range(body.begin(), seed()->getIterator()))
    stages[&op] = Forward;
  for (unsigned i = 0; i < function.getNumResults(); ++i) {
    if (!isForwardResult(i))
      continue;
    assign(terminator->getOperand(i), Forward);
    if (auto symbol = function.getResultAttrOfType<FlatSymbolRefAttr>(i, MpcDialect::kUpdatesAttr))
      renewed.insert(symbol);
  }
  if (stages.contains(seed()))
    return function.emitError() << "the forward pass depends on its own gradient";
  assign(step.cotangent, Backward);
  for (VariableGradientOp marker : markers)
    assign(marker.getGradient(), Backward);
  for (Operation &op : body.without_terminator())
    stages.try_emplace(&op, Apply);
  return success();
}

/// Whether a later stage makes the value again from variables, which hold what they held: a cast of
/// a weight, which becomes its shadow, is not worth memory.
bool StepSplitter::isDerived(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    Attribute symbol = function.getArgAttr(argument.getArgNumber(), MpcDialect::kVariableAttr);
    return symbol && !renewed.contains(symbol);
  }
  Operation *op = value.getDefiningOp();
  if (op->hasTrait<OpTrait::ConstantLike>())
    return true;
  auto cheap = dyn_cast<DifferentiableOpInterface>(op);
  return cheap && cheap.isCheapToRecompute() && op->getNumRegions() == 0 &&
         llvm::all_of(op->getOperands(), [&](Value operand) { return isDerived(operand); });
}

Value StepSplitter::keep(Value value, Stage from, Stage to) {
  auto [number, isNew] = kept.try_emplace(value, kept.size());
  std::string name = "kept:" + std::to_string(number->second);
  if (isNew)
    entries[from]->addOutput(name, at(value, from));
  Builder &builder = entries[to]->builder;
  return entries[to]->argument(value.getType(),
                               builder.getDictionaryAttr(builder.getNamedAttr(
                                   MpcDialect::kInputAttr, builder.getStringAttr(name))));
}

/// `value` of the step in one stage.
Value StepSplitter::at(Value value, Stage stage) {
  if (Value known = values[stage].lookupOrNull(value))
    return known;
  Value result;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    unsigned i = argument.getArgNumber();
    auto symbol = function.getArgAttrOfType<FlatSymbolRefAttr>(i, MpcDialect::kVariableAttr);
    if (symbol && (stage == Forward || !renewed.contains(symbol)))
      result = entries[stage]->variable(symbol);
    else if (stage == Forward)
      result = entries[stage]->argument(argument.getType(), function.getArgAttrDict(i));
    else
      result = keep(value, Forward, stage);
  } else if (auto marker = value.getDefiningOp<VariableGradientOp>()) {
    Value gradient = gradients.lookup(marker);
    Arithmetic a{entries[stage]->builder, marker.getLoc(), elementTypeOf(value)};
    result = a.widen(gradient);
  } else if (isDerived(value)) {
    copy(value.getDefiningOp(), stage);
    return values[stage].lookup(value);
  } else {
    result = keep(value, stages.lookup(value.getDefiningOp()), stage);
  }
  values[stage].map(value, result);
  return result;
}

void StepSplitter::copy(Operation *op, Stage stage) {
  for (Value value : valuesReadBy(op))
    (void)at(value, stage);
  Operation *clone = entries[stage]->builder.clone(*op, values[stage]);
  // The step widens a gradient itself: it takes the unscaled one before any rounding.
  auto optimizerStep = dyn_cast<OptimizerStepOp>(op);
  if (!optimizerStep)
    return;
  if (auto marker = optimizerStep.getGradient().getDefiningOp<VariableGradientOp>())
    cast<OptimizerStepOp>(clone).getGradientMutable().assign(gradients.lookup(marker));
}

void StepSplitter::copyAll(Stage stage) {
  for (Operation &op : body.without_terminator()) {
    if (stages.lookup(&op) != stage || isa<VariableGradientOp>(op))
      continue;
    if (llvm::all_of(op.getResults(), [&](Value v) { return values[stage].contains(v); }))
      continue;
    auto widening = dyn_cast<CastOp>(op);
    Operation *producer = widening ? widening.getInput().getDefiningOp() : nullptr;
    if (Value gradient = producer ? gradients.lookup(producer) : Value();
        gradient && gradient.getType() == widening.getType()) {
      values[stage].map(widening.getResult(), gradient);
      continue;
    }
    copy(&op, stage);
  }
}

/// Between the last two stages: one tensor for each marker, the first of a variable under its path.
void StepSplitter::addGradients() {
  llvm::DenseSet<Attribute> named;
  Builder &builder = entries[Apply]->builder;
  for (auto [i, marker] : llvm::enumerate(markers)) {
    std::string name = named.insert(marker.getVariableAttr()).second
                           ? "grad:" + marker.getVariable().str()
                           : "part:" + std::to_string(i);
    Arithmetic a{entries[Backward]->builder, marker.getLoc(),
                 widerOf32(elementTypeOf(marker.getGradient()))};
    Value gradient = a.widen(at(marker.getGradient(), Backward));
    entries[Backward]->addOutput(name, gradient);
    Value argument = entries[Apply]->argument(
        gradient.getType(), builder.getDictionaryAttr(builder.getNamedAttr(
                                MpcDialect::kInputAttr, builder.getStringAttr(name))));
    gradients[marker] = argument;
    if (Value unscaled = step.unscaled.lookup(marker.getResult()))
      values[Apply].map(unscaled, argument);
  }
}

void StepSplitter::addResults(Stage stage) {
  Operation *terminator = body.getTerminator();
  for (unsigned i = 0; i < function.getNumResults(); ++i) {
    if (isForwardResult(i) != (stage == Forward))
      continue;
    Value value = at(terminator->getOperand(i), stage);
    if (auto name = function.getResultAttrOfType<StringAttr>(i, MpcDialect::kOutputAttr))
      entries[stage]->addOutput(name, value);
    else
      entries[stage]->addUpdate(
          function.getResultAttrOfType<FlatSymbolRefAttr>(i, MpcDialect::kUpdatesAttr), value);
  }
}

LogicalResult StepSplitter::run() {
  llvm::append_range(markers, function.getOps<VariableGradientOp>());
  if (markers.empty())
    return success();
  if (failed(classify()))
    return failure();
  const EntryRole roles[] = {EntryRole::TrainForward, EntryRole::TrainBackward,
                             EntryRole::TrainApply};
  for (int stage = Forward; stage < StageCount; ++stage)
    entries[stage].emplace(module, roles[stage], function.getLoc());
  for (BlockArgument argument : function.getArguments())
    if (!function.getArgAttr(argument.getArgNumber(), MpcDialect::kVariableAttr))
      (void)at(argument, Forward);
  copyAll(Forward);
  addResults(Forward);
  copyAll(Backward);
  entries[Backward]->addOutput("loss_scale", at(step.cotangent, Backward));
  addGradients();
  copyAll(Apply);
  addResults(Apply);
  for (std::optional<EntryBuilder> &entry : entries)
    entry->finish();
  return success();
}

LogicalResult mpc::buildTrainStages(ModuleOp module, const TrainStepParts &step) {
  // Callers' loops divide what crosses the cut by the loss scale; new values of variables (float8)
  // are no gradients.
  for (VariableOp variable : module.getOps<VariableOp>())
    if (variable.getOverwriteWithGradient())
      return success();
  return StepSplitter(module, step).run();
}

void mpc::dropPredictions(func::FuncOp step) {
  llvm::BitVector dropped(step.getNumResults());
  for (unsigned i = 0; i < step.getNumResults(); ++i)
    if (auto name = step.getResultAttrOfType<StringAttr>(i, MpcDialect::kOutputAttr))
      dropped[i] = isPrediction(name.getValue());
  step.getBody().front().getTerminator()->eraseOperands(dropped);
  (void)step.eraseResults(dropped);
  removeDeadCode(step);
}
