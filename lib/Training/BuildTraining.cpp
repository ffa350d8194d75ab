// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Builds @loss beside @forward: total loss, metric updates, and the declarations that training
// needs (keras/src/trainers/compile_utils.py, trainer.py).
#include "lib/Training/Losses.h"
#include "lib/Training/Metrics.h"
#include "lib/Training/Optimizers.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mpc/Training/Training.h"

using namespace mlir;
using namespace mpc;

namespace {

/// One model output and what training compares it with.
struct Output {
  Value prediction; // float32
  Value target;     // int32 classes when sparse, else float32
  bool sparse = false;
  Value mask; // i1, or null: what losses and metrics leave out
};

class LossBuilder {
public:
  LossBuilder(ModuleOp module, const CompileConfig &config)
      : module(module), config(config), builder(module.getContext()),
        loc(NameLoc::get(builder.getStringAttr("loss"))) {}

  LogicalResult run();

private:
  LogicalResult collectOutputs();
  LogicalResult addLosses();
  void addLossTerms();
  void addRegularizers();
  void addLossMetric();
  LogicalResult addMetrics(const llvm::json::Value &metrics, bool weighted, StringRef part);
  LogicalResult addMetric(const KerasObject &metric, size_t output, bool weighted, StringRef part);
  void addMean(StringRef name, Value values, Value weights, bool root);
  Value reduceLoss(SampleLoss loss, StringRef reduction);
  Value weightsFor(Value values);
  Value maskFor(const Output &output, Value values);

  Expression expression() { return {builder, loc}; }
  Value addArgument(Type type, NamedAttribute attribute) {
    (void)function.insertArgument(function.getNumArguments(), type,
                                  builder.getDictionaryAttr(attribute), loc);
    return function.getArgument(function.getNumArguments() - 1);
  }
  Value addVariableArgument(VariableOp variable) {
    return addArgument(variable.getType(),
                       builder.getNamedAttr(MpcDialect::kVariableAttr,
                                            FlatSymbolRefAttr::get(variable.getSymNameAttr())));
  }
  /// Entry `index` of a list with one element per output, or the value itself for a single output.
  const llvm::json::Value *partFor(const llvm::json::Value &value, size_t index) const;

  ModuleOp module;
  const CompileConfig &config;
  OpBuilder builder;
  Location loc;
  func::FuncOp forward, function;
  SmallVector<Output> outputs;
  SmallVector<std::string> outputNames;
  SmallVector<Value> lossTerms;
  Value sampleWeight, total;
  SmallVector<Value> updates;
  SmallVector<DictionaryAttr> updateAttributes;
};

} // namespace

const llvm::json::Value *LossBuilder::partFor(const llvm::json::Value &value, size_t index) const {
  if (const llvm::json::Array *array = value.getAsArray())
    return index < array->size() ? &(*array)[index] : nullptr;
  if (const llvm::json::Object *object = value.getAsObject())
    if (!object->get("class_name"))
      return object->get(outputNames[index]);
  return outputs.size() == 1 || !value.getAsArray() ? &value : nullptr;
}

/// Arguments of @loss for each result of @forward, then targets and sample weights.
LogicalResult LossBuilder::collectOutputs() {
  for (unsigned i = 0; i < forward.getNumResults(); ++i) {
    auto name = forward.getResultAttrOfType<StringAttr>(i, MpcDialect::kOutputAttr);
    if (!name)
      continue;
    bool isTerm = forward.getResultAttr(i, MpcDialect::kLossTermAttr) != nullptr;
    Value argument = addArgument(forward.getResultTypes()[i],
                                 builder.getNamedAttr(MpcDialect::kInputAttr, name));
    if (isTerm) {
      lossTerms.push_back(argument);
      continue;
    }
    if (forward.getResultAttr(i, MpcDialect::kMaskAttr)) {
      unsigned output;
      if (!name.getValue().drop_front(4).getAsInteger(10, output) && output < outputs.size())
        outputs[output].mask = argument;
      continue;
    }
    outputs.push_back({argument, Value(), false, Value()});
    outputNames.push_back(name.str());
  }
  if (outputs.empty())
    return module.emitError("@forward has no output to compute a loss of");
  bool failed = false;
  for (auto [i, output] : llvm::enumerate(outputs)) {
    const llvm::json::Value *json = partFor(config.loss, i);
    std::optional<KerasObject> object =
        json && !CompileConfig::isNull(*json) ? KerasObject::parse(*json) : std::nullopt;
    auto predictionType = tensorTypeOf(output.prediction);
    if (!isa<FloatType>(predictionType.getElementType()) || predictionType.getRank() < 2) {
      if (object) {
        module.emitError("compile_config.loss[")
            << i << "]: output '" << outputNames[i] << "' has type " << predictionType
            << "; a loss needs a floating output with a batch and a last dimension";
        failed = true;
      }
      continue;
    }
    const LossEntry *entry = object ? lookupLoss(canonicalName(object->identifier)) : nullptr;
    if (object && !entry) {
      module.emitError("compile_config.loss[")
          << i << "]: loss '" << object->identifier << "' is not supported; use one of "
          << supportedLosses();
      failed = true;
      continue;
    }
    output.sparse = entry && entry->sparse;
    RankedTensorType targetType =
        output.sparse
            ? RankedTensorType::get(predictionType.getShape().drop_back(), builder.getI32Type())
            : RankedTensorType::get(predictionType.getShape(), builder.getF32Type());
    output.target = addArgument(
        targetType, builder.getNamedAttr(MpcDialect::kTargetAttr,
                                         builder.getStringAttr("y" + std::to_string(i))));
    if (output.sparse && !(object && object->optionalNumber("ignore_class")))
      function.setArgAttr(function.getNumArguments() - 1, MpcDialect::kIndexLimitAttr,
                          builder.getI64IntegerAttr(predictionType.getShape().back()));
  }
  auto batch = RankedTensorType::get({tensorTypeOf(outputs[0].prediction).getDimSize(0)},
                                     builder.getF32Type());
  sampleWeight = addArgument(
      batch, builder.getNamedAttr(MpcDialect::kTargetAttr, builder.getStringAttr("sample_weight")));
  return failure(failed);
}

/// The mask of an output in the rank of `values`, which losses and metrics computed of it; null
/// without a mask. Keras appends or drops a last dimension of 1
/// (keras/src/losses/loss.py, squeeze_or_expand_to_same_rank).
Value LossBuilder::maskFor(const Output &output, Value values) {
  if (!output.mask)
    return {};
  SmallVector<int64_t> shape(tensorTypeOf(output.mask).getShape());
  size_t rank = tensorTypeOf(values).getRank();
  while (shape.size() > rank && shape.back() == 1)
    shape.pop_back();
  shape.resize(std::max(shape.size(), rank), 1);
  Value mask = output.mask;
  if (ArrayRef(shape) != tensorTypeOf(mask).getShape())
    mask = ReshapeOp::create(builder, loc, tensorTypeOf(mask).clone(shape), mask);
  if (shape.size() == rank && ArrayRef(shape) != tensorTypeOf(values).getShape())
    mask = BroadcastLikeOp::create(builder, loc, mask, values);
  return mask;
}

/// Sample weights in the shape of per-sample values: [batch, 1, …].
Value LossBuilder::weightsFor(Value values) {
  return expression().expandTo(sampleWeight, tensorTypeOf(values).getRank());
}

/// keras/src/losses/loss.py reduce_weighted_values: with a mask, mean-like reductions divide by the
/// number of valid samples.
Value LossBuilder::reduceLoss(SampleLoss loss, StringRef reduction) {
  Expression e = expression();
  Value weights = weightsFor(loss.values);
  Value values = e.mul(loss.values, weights);
  Value valid = loss.mask ? e.toFloat(loss.mask) : Value();
  if (reduction == "sum" || reduction == "none")
    return e.reduceAll(ReduceKind::Sum, valid ? e.mul(values, valid) : values);
  if (reduction == "mean_with_sample_weight") {
    Value divisor = e.add(e.mul(e.onesLike(values), weights), e.constant(0));
    if (valid)
      values = e.mul(values, valid), divisor = e.mul(divisor, valid);
    return e.divideNoNan(e.reduceAll(ReduceKind::Sum, values),
                         e.reduceAll(ReduceKind::Sum, divisor));
  }
  if (valid)
    return e.divideNoNan(e.reduceAll(ReduceKind::Sum, e.mul(values, valid)),
                         e.reduceAll(ReduceKind::Sum, valid));
  return e.reduceAll(ReduceKind::Mean, values);
}

LogicalResult LossBuilder::addLosses() {
  static const StringRef reductions[] = {"sum_over_batch_size", "mean", "sum",
                                         "mean_with_sample_weight"};
  Expression e = expression();
  bool failed = false;
  for (auto [i, output] : llvm::enumerate(outputs)) {
    const llvm::json::Value *json = partFor(config.loss, i);
    if (!output.target || !json || CompileConfig::isNull(*json))
      continue;
    KerasObject object = *KerasObject::parse(*json);
    StringRef reduction = object.string("reduction", "sum_over_batch_size");
    if (!llvm::is_contained(reductions, reduction)) {
      module.emitError("compile_config.loss[")
          << i << "]: reduction '" << reduction << "' gives no scalar to train on; use one of "
          << llvm::join(ArrayRef(reductions), ", ");
      failed = true;
      continue;
    }
    const LossEntry *entry = lookupLoss(canonicalName(object.identifier));
    SampleLoss loss = entry->build(e, object, output.target, e.toFloat(output.prediction));
    if (Value mask = maskFor(output, loss.values)) {
      if (tensorTypeOf(mask).getShape() != tensorTypeOf(loss.values).getShape()) {
        module.emitError("compile_config.loss[")
            << i << "]: the output's mask has more dimensions than the losses of its samples";
        failed = true;
        continue;
      }
      loss.mask = loss.mask ? Value(LogicalAndOp::create(builder, loc, loss.mask, mask)) : mask;
    }
    Value value = reduceLoss(loss, reduction);
    if (const llvm::json::Value *weight = partFor(config.lossWeights, i))
      if (auto number = weight->getAsNumber())
        value = e.mul(value, e.constant(*number));
    total = total ? e.add(total, value) : value;
  }
  if (!total && !failed)
    return module.emitError("compile_config.loss: names no loss for any output");
  return failure(failed);
}

void LossBuilder::addLossTerms() {
  Expression e = expression();
  for (Value term : lossTerms)
    total = e.add(total, e.toFloat(term));
}

/// Kernel and bias regularisers run on the stored variables, outside any autocast.
void LossBuilder::addRegularizers() {
  for (VariableOp variable : module.getOps<VariableOp>()) {
    std::optional<RegularizerAttr> regularizer = variable.getRegularizer();
    if (!regularizer)
      continue;
    Value value = addVariableArgument(variable);
    Expression e = expression();
    value = e.toFloat(value);
    double l1 = regularizer->getL1().getValueAsDouble(),
           l2 = regularizer->getL2().getValueAsDouble();
    if (l1 != 0)
      total = e.add(total, e.mul(e.constant(l1), e.reduceAll(ReduceKind::Sum, e.abs(value))));
    if (l2 != 0)
      total =
          e.add(total, e.mul(e.constant(l2), e.reduceAll(ReduceKind::Sum, e.mul(value, value))));
  }
}

/// keras.metrics.Mean over `values` (any rank), optionally weighted.
void LossBuilder::addMean(StringRef name, Value values, Value weights, bool root) {
  Expression e = expression();
  Value counted = e.onesLike(values);
  if (weights) {
    values = e.mul(values, weights);
    counted = e.mul(counted, weights);
  }
  auto scalar = RankedTensorType::get({}, builder.getF32Type());
  SmallVector<Attribute> states;
  for (auto [suffix, increment] : {std::pair("/total", values), std::pair("/count", counted)}) {
    OpBuilder declarations(forward);
    std::string symbol = ("metric/" + name + suffix).str();
    auto variable = VariableOp::create(declarations, loc, symbol, scalar, VariableRole::Metric);
    states.push_back(FlatSymbolRefAttr::get(variable.getSymNameAttr()));
    Value state = addVariableArgument(variable);
    updates.push_back(e.add(state, e.reduceAll(ReduceKind::Sum, increment)));
    updateAttributes.push_back(
        builder.getDictionaryAttr(builder.getNamedAttr(MpcDialect::kUpdatesAttr, states.back())));
  }
  OpBuilder declarations(forward);
  MetricOp::create(declarations, loc, builder.getStringAttr(name), builder.getArrayAttr(states),
                   root ? builder.getUnitAttr() : UnitAttr());
}

/// The loss tracker is a mean weighted by the batch size.
void LossBuilder::addLossMetric() {
  addMean("loss", BroadcastLikeOp::create(builder, loc, total, sampleWeight), Value(), false);
}

LogicalResult LossBuilder::addMetric(const KerasObject &metric, size_t index, bool weighted,
                                     StringRef part) {
  Expression e = expression();
  const Output &output = outputs[index];
  if (!output.target)
    return module.emitError(part) << ": output '" << outputNames[index]
                                  << "' has no loss and so no target";
  SampleMetric built =
      buildMetric(e, metric, output.target, e.toFloat(output.prediction), output.sparse);
  if (!built.values)
    return module.emitError(part) << ": metric '" << metric.identifier
                                  << "' is not supported or does not fit the target of output '"
                                  << outputNames[index] << "'; supported: " << supportedMetrics();
  std::string name = metric.isName ? metric.identifier
                                   : metric.string("name", canonicalName(metric.identifier)).str();
  if (outputs.size() > 1)
    name = outputNames[index] + "_" + name;
  if (weighted)
    for (MetricOp existing : module.getOps<MetricOp>())
      if (existing.getName() == name) {
        name = "weighted_" + name;
        break;
      }
  Value weights = weighted ? weightsFor(built.values) : Value();
  if (Value mask = maskFor(output, built.values)) {
    if (tensorTypeOf(mask).getShape() != tensorTypeOf(built.values).getShape())
      return module.emitError(part)
             << ": the mask of output '" << outputNames[index]
             << "' has more dimensions than the values of metric '" << metric.identifier << "'";
    weights = weights ? e.mul(e.toFloat(mask), weights) : e.toFloat(mask);
  }
  addMean(name, built.values, weights, built.root);
  return success();
}

LogicalResult LossBuilder::addMetrics(const llvm::json::Value &metrics, bool weighted,
                                      StringRef part) {
  if (CompileConfig::isNull(metrics))
    return success();
  bool failed = false;
  auto addAll = [&](const llvm::json::Value &value, size_t output, auto &self) -> void {
    if (CompileConfig::isNull(value))
      return;
    if (const llvm::json::Array *array = value.getAsArray()) {
      for (const llvm::json::Value &element : *array)
        self(element, output, self);
      return;
    }
    std::optional<KerasObject> object = KerasObject::parse(value);
    if (!object) {
      module.emitError(part) << ": expected a metric's name or serialised object";
      failed = true;
    } else if (mlir::failed(addMetric(*object, output, weighted, part))) {
      failed = true;
    }
  };
  if (outputs.size() == 1) {
    addAll(metrics, 0, addAll);
    return failure(failed);
  }
  for (size_t i = 0; i < outputs.size(); ++i)
    if (const llvm::json::Value *one = partFor(metrics, i))
      addAll(*one, i, addAll);
  return failure(failed);
}

LogicalResult LossBuilder::run() {
  forward = module.lookupSymbol<func::FuncOp>("forward");
  if (!forward)
    return module.emitError("has no function @forward to train");
  builder.setInsertionPointAfter(forward);
  function = func::FuncOp::create(builder, loc, "loss", builder.getFunctionType({}, {}));
  builder.setInsertionPointToEnd(function.addEntryBlock());
  if (failed(collectOutputs()) || failed(addLosses()))
    return failure();
  addLossTerms();
  addRegularizers();
  addLossMetric();
  loc = NameLoc::get(builder.getStringAttr("metrics"));
  bool failedMetrics = failed(addMetrics(config.metrics, false, "compile_config.metrics"));
  failedMetrics |=
      failed(addMetrics(config.weightedMetrics, true, "compile_config.weighted_metrics"));
  if (failedMetrics)
    return failure();
  SmallVector<Value> results{total};
  results.append(updates);
  func::ReturnOp::create(builder, loc, results);
  SmallVector<Type> types;
  for (Value result : results)
    types.push_back(result.getType());
  function.setFunctionType(builder.getFunctionType(function.getArgumentTypes(), types));
  function.setResultAttr(0, MpcDialect::kOutputAttr, builder.getStringAttr("loss"));
  for (auto [i, attributes] : llvm::enumerate(updateAttributes))
    function.setResultAttrs(i + 1, attributes);
  return success();
}

LogicalResult mpc::buildTraining(ModuleOp module, const CompileConfig &config) {
  LossBuilder losses(module, config);
  bool failedLoss = failed(losses.run());
  if (CompileConfig::isNull(config.optimizer))
    return failure(failedLoss);
  OpBuilder builder(module.getContext());
  builder.setInsertionPointToStart(module.getBody());
  return failure(failed(buildOptimizer(builder, NameLoc::get(builder.getStringAttr("optimizer")),
                                       config.optimizer)) ||
                 failedLoss);
}
