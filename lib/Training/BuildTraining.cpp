// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Builds @loss beside @forward: total loss, metric updates, and the declarations that training
// needs (keras/src/trainers/compile_utils.py, trainer.py).
#include "dialects/mpc/IR/Forms.h"
#include "lib/Training/LossFunction.h"
#include "lib/Training/Losses.h"
#include "lib/Training/Optimizers.h"
#include "lib/Training/OutputParts.h"
#include "lib/Training/ReduceLoss.h"
#include "lib/Training/Regularizers.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mpc;

namespace {

/// One model output and what training compares it with.
struct Output {
  Value prediction; // float32
  Value mask;       // the output's Keras mask, or null
  Value target;     // int32 classes when sparse, else float32; null: nothing is compared
  Value weights;    // factors on the elements of its loss
  bool sparse = false;
  std::optional<KerasObject> loss;
  SampleLoss sampleLoss; // no values: without a loss
  OutputParts parts;
};

class LossBuilder {
public:
  LossBuilder(ModuleOp module, const CompileConfig &config, LossFunction &function)
      : module(module), config(config), function(function) {}

  LogicalResult run();

private:
  InFlightDiagnostic error(const Twine &text) {
    anyError = true;
    return module.emitError(text);
  }
  /// An error about a part of the config ("loss"), at the location where that stands.
  InFlightDiagnostic error(StringRef part, const Twine &text) {
    anyError = true;
    auto [place, name] = placeOf(part);
    return emitError(place) << name << text;
  }
  std::pair<Location, std::string> placeOf(StringRef part);
  /// An error about the loss where an option gives it or training is asked for. Keras compiles a
  /// model with such a loss, too, and fails when it trains: else the model predicts.
  void refuseTraining(const Twine &text);
  void collectOutputs();
  void sortConfig();
  void addTarget(size_t index);
  void checkInputNames();
  void checkOutputLoss(Output &output, const std::string &place);
  void addSampleLosses();
  void addWeights();
  void addLosses();
  void addLossTerms();
  void addMetrics(bool weighted);
  void addOutputLosses();
  void addAddedMetrics();
  void addMetric(Output &output, const llvm::json::Value &json, bool weighted);
  std::string uniqueName(const Output &output, StringRef name, bool weighted);
  /// keras.metrics.Mean of a value per batch, weighted by the batch size.
  MetricParts trackerOf(Value value);

  Expression expression() { return function.expression(); }

  ModuleOp module;
  const CompileConfig &config;
  LossFunction &function;
  std::vector<Output> outputs;
  SmallVector<Value> lossTerms;
  llvm::MapVector<StringRef, SmallVector<Value>> addedMetrics; // by name, once per call
  SmallVector<std::pair<std::string, Value>> outputLosses; // unweighted, by OutputParts::lossName
  llvm::StringMap<unsigned> nameCounts;
  Value total;
  bool anyError = false, isUntrainable = false;
};

} // namespace

/// In an option or the file that it names, or in the model's compile config.
std::pair<Location, std::string> LossBuilder::placeOf(StringRef part) {
  const std::string &place = part == "loss"      ? config.lossPlace
                             : part == "metrics" ? config.metricsPlace
                                                 : std::string();
  if (place.empty())
    return {module.getLoc(), ("compile_config." + part).str()};
  return {FileLineColLoc::get(module.getContext(), place, 0, 0), part.str()};
}

void LossBuilder::refuseTraining(const Twine &text) {
  if (!config.mayOnlyPredict || !config.lossPlace.empty()) {
    error("loss", text);
    return;
  }
  isUntrainable = true;
  auto [place, name] = placeOf("loss");
  emitWarning(place) << name << text << "; Keras does not train such a model: compiled for "
                     << "inference alone (--mode=infer)";
}

/// Arguments of @loss for each result of @forward that is no update.
void LossBuilder::collectOutputs() {
  func::FuncOp forward = function.forward;
  OpBuilder &builder = function.builder;
  for (unsigned i = 0; i < forward.getNumResults(); ++i) {
    auto name = forward.getResultAttrOfType<StringAttr>(i, MpcDialect::kOutputAttr);
    if (!name)
      continue;
    Value argument = function.addArgument(forward.getResultTypes()[i],
                                          builder.getNamedAttr(MpcDialect::kInputAttr, name));
    if (forward.getResultAttr(i, MpcDialect::kLossTermAttr)) {
      lossTerms.push_back(argument);
    } else if (auto metric =
                   forward.getResultAttrOfType<StringAttr>(i, MpcDialect::kAddedMetricAttr)) {
      addedMetrics[metric.getValue()].push_back(argument);
    } else if (forward.getResultAttr(i, MpcDialect::kMaskAttr)) {
      StringRef number = name.getValue(); // "mask<output>"
      size_t output = 0;
      if (number.consume_front("mask") && !number.getAsInteger(10, output) &&
          output < outputs.size())
        outputs[output].mask = argument;
    } else {
      outputs.emplace_back();
      outputs.back().prediction = argument;
      outputs.back().parts.name = name.str();
      if (findForm<BoundedAttr>(forward.getResultAttr(i, MpcDialect::kFormAttr)))
        error("loss", ": values say the extent of output '" + name.str() + "'; leave it out");
    }
  }
  if (outputs.empty())
    error("@forward has no output to compute a loss of");
}

void LossBuilder::sortConfig() {
  SmallVector<std::string> names;
  SmallVector<ConfigRemark> problems, warnings;
  auto keras = module->getAttrOfType<ArrayAttr>(MpcDialect::kOutputNamesAttr);
  for (auto [i, output] : llvm::enumerate(outputs)) {
    auto name = keras && i < keras.size() ? dyn_cast<StringAttr>(keras[i]) : StringAttr();
    names.push_back(name ? name.str() : output.parts.name);
  }
  OutputNames structure{names, module->hasAttr(MpcDialect::kOutputDictionaryAttr)};
  structure.maySkip = !config.rules.outputNames.empty();
  if (auto nested = module->getAttrOfType<StringAttr>(MpcDialect::kOutputStructureAttr)) {
    auto parsed = llvm::json::parse(nested.getValue());
    if (!parsed) {
      error("mpc.output_structure is no JSON: " + llvm::toString(parsed.takeError()));
      return;
    }
    structure.nested = std::move(*parsed);
  }
  for (auto [output, parts] :
       llvm::zip_equal(outputs, sortByOutput(config, structure, problems, warnings)))
    output.parts = parts;
  if (config.rules.outputNames.size() == outputs.size())
    for (auto [output, name] : llvm::zip_equal(outputs, config.rules.outputNames))
      output.parts.name = output.parts.lossName = name;
  for (const ConfigRemark &problem : problems)
    if (problem.onlyInTraining)
      refuseTraining(": " + problem.text);
    else
      error(problem.part, ": " + problem.text);
  for (const ConfigRemark &warning : warnings) {
    auto [place, name] = placeOf(warning.part);
    emitWarning(place) << name << ": " << warning.text;
  }
}

/// Takes the loss off the output after an error: its metrics are looked at all the same.
void LossBuilder::checkOutputLoss(Output &output, const std::string &place) {
  auto type = tensorTypeOf(output.prediction);
  if (canonicalName(output.loss->identifier) == "crossentropy")
    // keras/src/trainers/compile_utils.py, get_loss
    output.loss->identifier =
        type.getShape().back() == 1 ? "binary_crossentropy" : "sparse_categorical_crossentropy";
  if (std::string problem = checkLoss(*output.loss, type); !problem.empty()) {
    error("loss", place + "loss '" + output.loss->identifier + "' " + problem);
    output.loss.reset();
  }
}

/// The loss decides what a target looks like; without one the metrics do.
void LossBuilder::addTarget(size_t index) {
  Output &output = outputs[index];
  OpBuilder &builder = function.builder;
  auto type = tensorTypeOf(output.prediction);
  const std::string place = "[" + std::to_string(index) + "]: ";
  if (const llvm::json::Value *json = output.parts.loss) {
    output.loss = KerasObject::parseLoss(*json);
    if (!output.loss)
      error("loss", place + "expected a loss's name or serialised object");
  }
  SmallVector<const llvm::json::Value *> metrics(output.parts.metrics);
  metrics.append(output.parts.weightedMetrics);
  if (!output.loss && metrics.empty())
    return;
  if (type.getRank() < 1) {
    error("loss", place + "output '" + output.parts.name + "' has type ")
        << type
        << "; a loss or metric needs a batch dimension; compile the model for predictions "
           "only with --mode=infer";
    return;
  }
  // A loss makes float32 of integers, as Keras's does: what computes them learns nothing from it.
  // Metrics of Keras make integers of the targets instead.
  if (!isa<FloatType>(type.getElementType()) && !metrics.empty()) {
    error("metrics", place + "output '" + output.parts.name + "' has type ")
        << type << "; a metric needs a floating output; leave out the metrics of this one";
    return;
  }
  if (output.loss)
    checkOutputLoss(output, place);
  bool checksIndices = false;
  if (output.loss) {
    TargetKind kind = lookupLoss(canonicalName(output.loss->identifier))->target;
    output.sparse = kind != TargetKind::Values;
    checksIndices = kind == TargetKind::Classes && !output.loss->optionalNumber("ignore_class");
  } else {
    output.sparse = llvm::any_of(metrics, [](const llvm::json::Value *json) {
      std::optional<KerasObject> metric = KerasObject::parse(*json);
      return metric && takesClasses(*metric);
    });
  }
  if (output.sparse && type.getRank() < 2) {
    error("loss", place + "output '" + output.parts.name + "' has type ")
        << type << "; classes need a dimension behind the batch";
    return;
  }
  RankedTensorType targetType =
      output.sparse ? RankedTensorType::get(type.getShape().drop_back(), builder.getI32Type())
                    : RankedTensorType::get(type.getShape(), builder.getF32Type());
  output.target = function.addArgument(
      targetType, builder.getNamedAttr(MpcDialect::kTargetAttr,
                                       builder.getStringAttr("y" + std::to_string(index))));
  if (checksIndices)
    function.function.setArgAttr(function.function.getNumArguments() - 1,
                                 MpcDialect::kIndexLimitAttr,
                                 builder.getI64IntegerAttr(type.getShape().back()));
}

/// Data files and callers of the entries tell the model's inputs, the targets and the sample
/// weights apart by their names.
void LossBuilder::checkInputNames() {
  func::FuncOp forward = function.forward;
  for (unsigned i = 0; i < forward.getNumArguments(); ++i) {
    auto input = forward.getArgAttrOfType<StringAttr>(i, MpcDialect::kInputAttr);
    if (!input)
      continue;
    for (auto [number, output] : llvm::enumerate(outputs)) {
      const std::string index = std::to_string(number);
      const char *what = input == "y" + index ? "the target"
                         : input == "sample_weight" || input == "sample_weight" + index
                             ? "the sample weights"
                             : nullptr;
      if (!output.target || !what)
        continue;
      error(input.getValue() + ": this input of the model has the name of " + what +
            " of output '" + output.parts.name +
            "', and training tells them apart by name; expected another name; rename the input in "
            "the model, or compile it for predictions only with --mode=infer");
      break;
    }
  }
}

void LossBuilder::addSampleLosses() {
  for (Output &output : outputs) {
    if (!output.target || !output.loss)
      continue;
    Expression e = expression();
    LossInput input{e, *output.loss, output.target, e.toFloat(output.prediction), config.rules};
    output.sampleLoss = lookupLoss(canonicalName(output.loss->identifier))->build(input);
  }
}

/// One argument of weights per compared output: a factor for every element that its loss has before
/// the reduction, so that rows may be weighted, or each step of a sequence. Callers repeat what has
/// fewer dimensions.
void LossBuilder::addWeights() {
  OpBuilder &builder = function.builder;
  bool single = llvm::count_if(outputs, [](const Output &o) { return bool(o.target); }) == 1;
  for (auto [i, output] : llvm::enumerate(outputs)) {
    if (!output.target)
      continue;
    auto prediction = tensorTypeOf(output.prediction).getShape();
    ArrayRef<int64_t> shape = prediction.take_front(std::max<int64_t>(prediction.size() - 1, 1));
    if (Value values = output.sampleLoss.values)
      shape = output.sampleLoss.hasBatch && tensorTypeOf(values).getRank()
                  ? tensorTypeOf(values).getShape()
                  : prediction.take_front(1);
    output.weights = function.addArgument(
        RankedTensorType::get(shape, builder.getF32Type()),
        builder.getNamedAttr(
            MpcDialect::kTargetAttr,
            builder.getStringAttr("sample_weight" + (single ? "" : std::to_string(i)))));
  }
}

void LossBuilder::addLosses() {
  Expression e = expression();
  for (auto [i, output] : llvm::enumerate(outputs)) {
    if (!output.sampleLoss.values)
      continue;
    std::string reduction = output.loss->string("reduction", "sum_over_batch_size").str();
    if (output.loss->isNull("reduction"))
      reduction = "none";
    if (!isReduction(reduction)) {
      error("loss", "[") << i << "]: reduction '" << reduction
                         << "' gives no scalar to train on; use one of " << reductionNames();
      continue;
    }
    const SampleLoss &loss = output.sampleLoss;
    Value mask = alignMask(e, output.mask, tensorTypeOf(loss.values).getRank());
    if (output.mask && !mask) {
      refuseTraining("[" + Twine(i) +
                     "]: the output's mask has more dimensions than the losses of its samples");
      continue;
    }
    Value value = reduceLoss(e, loss, output.weights, mask, reduction, config.rules);
    outputLosses.push_back({output.parts.lossName, value});
    if (output.parts.lossWeight)
      value = e.mul(value, e.constant(*output.parts.lossWeight));
    total = total ? e.add(total, value) : value;
  }
  if (!total && !anyError && !(CompileConfig::isNull(config.loss) && !lossTerms.empty()))
    error("loss", ": names no loss for any output");
}

/// Without any loss of an output they are the whole loss.
void LossBuilder::addLossTerms() {
  Expression e = expression();
  for (Value term : lossTerms)
    total = total ? e.add(total, e.toFloat(term)) : e.toFloat(term);
}

MetricParts LossBuilder::trackerOf(Value value) {
  Expression e = expression();
  auto compared = llvm::find_if(outputs, [](const Output &o) { return bool(o.weights); });
  Value batch = compared == outputs.end() ? Value() : compared->weights;
  // A loss of the model's own: Keras 3 counts rows all the same, tf_keras batches.
  if (!batch && config.rules.optimizers == OptimizerFamily::Keras3)
    if (auto type = tensorTypeOf(outputs.front().prediction);
        type.getRank() && isa<FloatType>(type.getElementType()))
      batch = outputs.front().prediction;
  if (!batch)
    return {{{"total", value}, {"count", e.constant(1)}}};
  Value rows = e.reduceFrom(ReduceKind::Sum, batch, 1); // only its extent counts
  Value repeated = BroadcastLikeOp::create(e.builder, e.loc, value, rows);
  return {{{"total", e.reduceAll(ReduceKind::Sum, repeated)},
           {"count", e.reduceAll(ReduceKind::Sum, e.onesLike(repeated))}}};
}

/// CompileMetrics.result: the output's name before the metric's, "weighted_" before a repeated name
/// of a weighted metric, a number behind what repeats all the same.
std::string LossBuilder::uniqueName(const Output &output, StringRef name, bool weighted) {
  std::string prefix = outputs.size() > 1 ? output.parts.name + "_" : "";
  std::string full = prefix + name.str();
  if (nameCounts.lookup(full) && weighted)
    full = prefix + "weighted_" + name.str();
  unsigned count = nameCounts[full]++;
  return count ? full + "_" + std::to_string(count) : full;
}

/// The output's weights, one per row where the elements of its loss are no leading part of its own:
/// a loss along another axis than the last.
static Value metricWeights(Expression &e, const Output &output) {
  ArrayRef<int64_t> shape = tensorTypeOf(output.weights).getShape();
  bool leads = tensorTypeOf(output.prediction).getShape().take_front(shape.size()) == shape;
  return leads ? output.weights : e.reduceFrom(ReduceKind::Mean, output.weights, 1);
}

void LossBuilder::addMetric(Output &output, const llvm::json::Value &json, bool weighted) {
  const StringRef part = weighted ? "weighted_metrics" : "metrics";
  std::optional<KerasObject> metric = KerasObject::parse(json);
  if (!metric) {
    error(part, ": expected a metric's name or serialised object");
    return;
  }
  if (!output.target)
    return; // its type has been reported
  std::string name = metric->isName
                         ? metric->identifier
                         : metric->string("name", canonicalName(metric->identifier)).str();
  const std::string kind = canonicalName(metric->identifier);
  if (config.rules.accuracyFollowsLoss && (kind == "accuracy" || kind == "crossentropy") &&
      output.loss && canonicalName(output.loss->identifier) == "binary_crossentropy")
    metric->identifier = "binary_" + kind;
  Expression e = expression();
  MetricInput input{e,
                    *metric,
                    output.target,
                    e.toFloat(output.prediction),
                    output.sparse,
                    weighted ? metricWeights(e, output) : Value(),
                    output.mask,
                    config.rules};
  MetricParts parts = buildMetric(input);
  if (parts.states.empty()) {
    const std::string text = ": metric '" + metric->identifier + "' of output '" +
                             output.parts.name + "' " + parts.problem;
    if (config.mayOnlyPredict && config.metricsPlace.empty())
      emitWarning(module.getLoc()) << "compile_config." << part << text << "; it is left out";
    else
      error(part, text);
    return;
  }
  std::string unique = uniqueName(output, name, weighted);
  while (function.hasMetric(unique)) // "loss", or a name that looks like a numbered one
    unique += "_1";
  function.addMetric(unique, parts);
}

void LossBuilder::addMetrics(bool weighted) {
  for (Output &output : outputs)
    for (const llvm::json::Value *json :
         weighted ? output.parts.weightedMetrics : output.parts.metrics)
      addMetric(output, *json, weighted);
}

/// Two outputs of one layer have one name; Keras logs by name, and what comes last stays.
void LossBuilder::addOutputLosses() {
  if (outputLosses.size() < 2)
    return;
  llvm::MapVector<StringRef, Value> last;
  for (auto &[name, value] : outputLosses)
    last[name] = value;
  for (auto &[name, value] : last)
    if (std::string tracker = (name + "_loss").str(); !function.hasMetric(tracker))
      function.addMetric(tracker, trackerOf(value));
}

void LossBuilder::addAddedMetrics() {
  for (auto &[given, calls] : addedMetrics) {
    Expression e = expression();
    std::string name = given.str();
    while (function.hasMetric(name))
      name += "_1";
    function.addMetric(name, meanOfCalls(e, calls));
  }
}

LogicalResult LossBuilder::run() {
  collectOutputs();
  if (!anyError)
    sortConfig();
  if (anyError)
    return failure();
  for (size_t i = 0; i < outputs.size(); ++i)
    addTarget(i);
  checkInputNames();
  addSampleLosses();
  addWeights();
  addLosses();
  if (isUntrainable && !anyError) {
    function.function.erase();
    return success();
  }
  if (total || (!anyError && !lossTerms.empty())) {
    addLossTerms();
    total = addRegularizers(function, total, config.rules, [&](const Twine &text) { error(text); });
    function.addMetric("loss", trackerOf(total));
  }
  function.loc = NameLoc::get(function.builder.getStringAttr("metrics"));
  addMetrics(false);
  addMetrics(true);
  addOutputLosses();
  addAddedMetrics();
  if (anyError)
    return failure();
  function.finish(total);
  return success();
}

bool mpc::hasLossTerms(ModuleOp module) {
  auto forward = module.lookupSymbol<func::FuncOp>("forward");
  for (unsigned i = 0; forward && i < forward.getNumResults(); ++i)
    if (forward.getResultAttr(i, MpcDialect::kLossTermAttr))
      return true;
  return false;
}

LogicalResult mpc::buildTraining(ModuleOp module, const CompileConfig &config) {
  auto forward = module.lookupSymbol<func::FuncOp>("forward");
  if (!forward)
    return module.emitError("has no function @forward to train");
  LossFunction function(forward);
  bool failedLoss = failed(LossBuilder(module, config, function).run());
  const bool onlyPredicts = !failedLoss && !module.lookupSymbol("loss");
  if (CompileConfig::isNull(config.optimizer) || onlyPredicts)
    return failure(failedLoss);
  OpBuilder builder(module.getContext());
  builder.setInsertionPointToStart(module.getBody());
  return failure(failed(buildOptimizer(builder, module, config)) || failedLoss);
}
