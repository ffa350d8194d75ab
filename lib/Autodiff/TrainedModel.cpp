// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Copies @forward and @loss into entries, in training or inference mode.
#include "lib/Autodiff/TrainedModel.h"

using namespace mlir;
using namespace mpc;

LogicalResult TrainedModel::verify() {
  LogicalResult status = success();
  for (func::FuncOp function : {forward, loss}) {
    if (!function)
      continue;
    if (function.isExternal() || !function.getBody().hasOneBlock()) {
      status = function.emitError() << "must have a body of one block";
      continue;
    }
    function.walk(
        [&](LayerOp layer) {
          status = layer.emitError()
                   << "layer '" << layer.getPath()
                   << "' is not inlined; mpc-differentiate needs mpc-insert-casts before it";
        });
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      if (!function.getArgAttr(i, MpcDialect::kInputAttr) &&
          !function.getArgAttr(i, MpcDialect::kTargetAttr) &&
          !function.getArgAttr(i, MpcDialect::kVariableAttr))
        status = function.emitError()
                 << "argument " << i << " is no mpc.input, mpc.target or mpc.variable";
  }
  return status;
}

void TrainedModel::addArguments(EntryBuilder &entry, bool withTargets) {
  for (unsigned i = 0; i < forward.getNumArguments(); ++i)
    if (forward.getArgAttr(i, MpcDialect::kInputAttr))
      entry.argument(forward.getArgumentTypes()[i], forward.getArgAttrDict(i));
  if (withTargets)
    for (unsigned i = 0; i < loss.getNumArguments(); ++i)
      if (loss.getArgAttr(i, MpcDialect::kTargetAttr))
        entry.argument(loss.getArgumentTypes()[i], loss.getArgAttrDict(i));
}

/// Replaces ops of the bodies of `op` that only training computes.
static void dropTrainingOnly(Operation *op) {
  SmallVector<TrainingOnlyOpInterface> found;
  for (Region &region : op->getRegions())
    region.walk([&](TrainingOnlyOpInterface inner) { found.push_back(inner); });
  for (TrainingOnlyOpInterface inner : found) {
    inner->getResult(0).replaceAllUsesWith(inner.getInferenceValue());
    inner->erase();
  }
}

/// Copies the body of `function` behind what the entry has; returns the values of its results.
static SmallVector<Value> copyBody(EntryBuilder &entry, func::FuncOp function, IRMapping &values,
                                   Mode mode) {
  Block &body = function.getBody().front();
  for (Operation &op : body.without_terminator()) {
    auto trainingOnly = dyn_cast<TrainingOnlyOpInterface>(op);
    Value chosen;
    if (trainingOnly)
      chosen = mode == Mode::Inference ? trainingOnly.getInferenceValue()
                                       : trainingOnly.getTrainingValue();
    if (chosen) {
      values.map(op.getResult(0), values.lookup(chosen));
      continue;
    }
    Operation *copy = entry.builder.clone(op, values);
    if (mode == Mode::Inference) {
      if (auto partly = dyn_cast<TrainingPartOpInterface>(copy))
        partly.dropTrainingPart();
      dropTrainingOnly(copy);
      continue;
    }
    auto differentiable = dyn_cast<DifferentiableOpInterface>(copy);
    Operation *saving =
        differentiable ? differentiable.buildWithSavedValues(entry.builder) : nullptr;
    if (!saving)
      continue;
    for (auto [result, saved] : llvm::zip(op.getResults(), saving->getResults()))
      values.map(result, saved);
    copy->erase();
  }
  return llvm::map_to_vector(body.getTerminator()->getOperands(),
                             [&](Value v) { return values.lookup(v); });
}

/// `value` in the type that @loss was built for: before casts every output was float32.
static Value adapt(OpBuilder &builder, Value value, Type type) {
  return value.getType() == type ? value
                                 : Value(CastOp::create(builder, value.getLoc(), type, value));
}

/// The value whose softmax along the op's axis, or sigmoid, the probabilities are; null otherwise.
static Value findLogits(LogitsOp op) {
  Operation *producer = op.getProbabilities().getDefiningOp();
  if (op.getOf() == LogitsOf::Sigmoid) {
    auto sigmoid = dyn_cast_or_null<SigmoidOp>(producer);
    return sigmoid ? sigmoid.getInput() : Value();
  }
  auto softmax = dyn_cast_or_null<SoftmaxOp>(producer);
  return softmax && softmax.getAxisAttr() == op.getAxisAttr() ? softmax.getInput() : Value();
}

/// Losses take the form that they have for the logits, or for the probabilities where no logits are
/// known. Before differentiation, because the clip of the probability form stops the gradient of
/// samples that the model gets badly wrong. The probabilities may still be an output.
static void resolveLogits(EntryBuilder &entry) {
  SmallVector<LogitsOp> questions;
  entry.function.walk([&](LogitsOp op) { questions.push_back(op); });
  for (LogitsOp op : questions) {
    Value logits = findLogits(op);
    for (Operation *user : llvm::make_early_inc_range(op.getKnown().getUsers()))
      if (auto select = dyn_cast<SelectOp>(user);
          select && select.getCondition() == op.getKnown() &&
          select.getOnTrue().getType() == select.getOnFalse().getType()) {
        select.replaceAllUsesWith(logits ? select.getOnTrue() : select.getOnFalse());
        select.erase();
      }
    if (!op.getKnown().use_empty()) {
      OpBuilder builder(op);
      op.getKnown().replaceAllUsesWith(
          scalarConstant(builder, op.getLoc(), builder.getI1Type(), logits ? 1 : 0));
    }
    op.getLogits().replaceAllUsesWith(logits ? logits : op.getProbabilities());
    op.erase();
  }
}

Value TrainedModel::Copy::trainedValue(EntryBuilder &entry, FlatSymbolRefAttr symbol) const {
  for (NamedValue update : updates)
    if (update.name == symbol)
      return update.value;
  return entry.variable(symbol);
}

FailureOr<TrainedModel::Copy> TrainedModel::emit(EntryBuilder &entry, Mode mode, bool withLoss) {
  Copy copy;
  OpBuilder &builder = entry.builder;
  auto mapArgument = [&](func::FuncOp function, unsigned i, IRMapping &values) {
    auto symbol = function.getArgAttrOfType<FlatSymbolRefAttr>(i, MpcDialect::kVariableAttr);
    values.map(function.getArgument(i),
               symbol ? entry.variable(symbol)
                      : entry.argument(function.getArgumentTypes()[i], function.getArgAttrDict(i)));
  };
  IRMapping values;
  for (unsigned i = 0; i < forward.getNumArguments(); ++i)
    mapArgument(forward, i, values);
  llvm::DenseMap<Attribute, Value> produced, terms;
  for (auto [i, value] : llvm::enumerate(copyBody(entry, forward, values, mode))) {
    if (Attribute symbol = forward.getResultAttr(i, MpcDialect::kUpdatesAttr)) {
      copy.updates.push_back(
          {symbol, value, bool(forward.getResultAttr(i, MpcDialect::kStatefulAttr))});
      continue;
    }
    Attribute name = forward.getResultAttr(i, MpcDialect::kOutputAttr);
    if (!name)
      return forward.emitError() << "result " << i << " is neither mpc.output nor mpc.updates",
             failure();
    produced[name] = value;
    if (forward.getResultAttr(i, MpcDialect::kLossTermAttr))
      terms[name] = value;
    else if (!forward.getResultAttr(i, MpcDialect::kMaskAttr) &&
             !forward.getResultAttr(i, MpcDialect::kAddedMetricAttr))
      copy.outputs.push_back({name, value});
  }
  if (!withLoss)
    return copy;
  for (unsigned i = 0; i < loss.getNumArguments(); ++i) {
    Attribute name = loss.getArgAttr(i, MpcDialect::kInputAttr);
    if (!name) {
      mapArgument(loss, i, values);
      // Regularizers see what the forward pass has made of a variable.
      if (auto symbol = loss.getArgAttrOfType<FlatSymbolRefAttr>(i, MpcDialect::kVariableAttr))
        values.map(loss.getArgument(i), copy.trainedValue(entry, symbol));
      continue;
    }
    Value value = produced.lookup(name);
    if (!value || !CastOp::areCastCompatible(value.getType(), loss.getArgumentTypes()[i]))
      return loss.emitError() << "argument " << i << " takes " << name << " of type "
                              << loss.getArgumentTypes()[i] << ", which @forward does not return",
             failure();
    terms.erase(name);
    values.map(loss.getArgument(i), adapt(builder, value, loss.getArgumentTypes()[i]));
  }
  auto scalar = RankedTensorType::get({}, builder.getF32Type());
  for (auto [i, value] : llvm::enumerate(copyBody(entry, loss, values, mode))) {
    if (Attribute symbol = loss.getResultAttr(i, MpcDialect::kUpdatesAttr))
      copy.metricUpdates.push_back({symbol, value});
    else if (value.getType() == scalar)
      copy.loss = value;
    else
      return loss.emitError() << "result " << i << " must be mpc.updates or the loss, tensor<f32>",
             failure();
  }
  if (!copy.loss)
    return loss.emitError() << "returns no loss", failure();
  resolveLogits(entry);
  for (unsigned i = 0; i < forward.getNumResults(); ++i)
    if (Value term = terms.lookup(forward.getResultAttr(i, MpcDialect::kOutputAttr)))
      copy.loss = AddOp::create(builder, term.getLoc(), copy.loss, adapt(builder, term, scalar));
  return copy;
}
