// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Lookup of metrics by name; means and sums. Predictions are widened first, unlike Keras, whose
// squares can overflow float16.
#include "lib/Training/Metrics.h"
#include "lib/Training/Losses.h"
#include "lib/Training/ReduceLoss.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mpc;

static SmallVector<const MetricEntry *> allMetrics() {
  SmallVector<const MetricEntry *> entries;
  for (ArrayRef<MetricEntry> family : {accuracyMetrics(), confusionMetrics(), correlationMetrics(),
                                       intersectionMetrics(), scoreMetrics()})
    for (const MetricEntry &entry : family)
      entries.push_back(&entry);
  return entries;
}

MetricParts mpc::meanOfCalls(Expression &e, ValueRange calls) {
  Value total, count;
  auto add = [&](Value &sum, Value values) {
    Value part = e.reduceAll(ReduceKind::Sum, values);
    sum = sum ? e.add(sum, part) : part;
  };
  for (Value values : calls) {
    add(total, values);
    add(count, e.onesLike(values));
  }
  return {{{"total", total}, {"count", count}}};
}

MetricParts mpc::meanOf(MetricInput &in, Value values, Value valuesMask) {
  Expression &e = in.e;
  Value weights = in.weights, outputMask = alignMask(e, in.mask, tensorTypeOf(values).getRank());
  if (in.mask && !outputMask)
    return MetricParts::failure("has values with fewer dimensions than the output's mask");
  // Keras looks at the mask that the values carry only when there are weights.
  for (Value mask : {outputMask, weights ? valuesMask : Value()}) {
    if (!mask)
      continue;
    Value factor = e.toFloat(mask);
    if (weights)
      factor = e.mul(e.expandTo(weights, tensorTypeOf(factor).getRank()),
                     e.expandTo(factor, tensorTypeOf(weights).getRank()));
    weights = factor;
  }
  int64_t rank = weights ? tensorTypeOf(weights).getRank() : 1;
  if (tensorTypeOf(values).getRank() == 0) // a value for the whole batch
    return {{{"total", values}, {"count", e.constant(1)}}};
  values = e.reduceFrom(ReduceKind::Mean, values, rank);
  if (weights && tensorTypeOf(values).getRank() < rank)
    weights = e.reduceFrom(ReduceKind::Mean, weights, tensorTypeOf(values).getRank());
  Value counted = weights ? weights : e.onesLike(values);
  if (weights)
    values = e.mul(values, weights);
  values = e.reduceFrom(ReduceKind::Mean, values, 1);
  counted = e.reduceFrom(ReduceKind::Mean, counted, 1);
  return {{{"total", e.reduceAll(ReduceKind::Sum, values)},
           {"count", e.reduceAll(ReduceKind::Sum, counted)}}};
}

/// keras.metrics.Sum of the prediction.
static MetricParts sumOf(MetricInput &in) {
  Expression &e = in.e;
  Value values = in.prediction;
  if (in.weights)
    values = e.mul(values, e.expandTo(in.weights, in.rank()));
  MetricParts parts{{{"total", e.reduceAll(ReduceKind::Sum, values)}}};
  parts.result = [](Expression &, ValueRange states) { return states[0]; };
  return parts;
}

static MetricParts rootMeanSquaredError(MetricInput &in) {
  // No MeanMetricWrapper: its squares have lost the output's mask (keras/src/metrics/
  // regression_metrics.py).
  in.mask = {};
  MetricParts parts = meanOf(in, in.e.square(in.e.sub(in.prediction, in.target)));
  parts.root = true;
  return parts;
}

static MetricParts meanOfLoss(MetricInput &in, StringRef name) {
  const LossEntry *loss = lookupLoss(name);
  if (loss->target != TargetKind::Values && !in.sparse)
    return MetricParts::failure("needs class indices as targets");
  // Keras compares the number of a class with the value of each.
  Value target = in.target;
  if (loss->target == TargetKind::Values && in.sparse)
    target = in.e.toFloat(in.e.expandDims(target, in.rank() - 1));
  KerasObject object = in.metric;
  object.identifier = name.str();
  if (std::string problem = checkLoss(object, tensorTypeOf(in.prediction)); !problem.empty())
    return MetricParts::failure(problem);
  LossInput input{in.e, in.metric, target, in.prediction, in.rules};
  SampleLoss built = loss->build(input);
  Value values = built.values;
  // The class is positive where the loss of the same name is negative.
  if (name == "cosine_similarity" && !in.metric.isFunction && !in.rules.isBefore23)
    values = in.e.negate(values);
  return meanOf(in, values, built.mask);
}

/// {"fn": function, arguments of it, "name", "dtype"}
static MetricParts meanMetricWrapper(MetricInput &in) {
  const llvm::json::Value *function = in.metric.config.get("fn");
  std::optional<KerasObject> object = function ? KerasObject::parse(*function) : std::nullopt;
  if (!object)
    return MetricParts::failure("has no function 'fn' in its config");
  for (const auto &[key, value] : in.metric.config)
    if (key != "fn")
      object->config.insert({key, value});
  MetricInput inner{in.e,      *object,    in.target, in.prediction,
                    in.sparse, in.weights, in.mask,   in.rules};
  return buildMetric(inner);
}

/// A metric of a table, or one of those that need a few lines only; a mean of a loss names its
/// arguments itself.
static MetricParts buildNamed(MetricInput &in, StringRef name) {
  using Build = MetricParts (*)(MetricInput &);
  auto build = [&](StringRef arguments, Build function) {
    std::string problem = checkArgumentNames(in.metric.config, arguments);
    return problem.empty() ? function(in) : MetricParts::failure(problem);
  };
  for (const MetricEntry *entry : allMetrics())
    if (entry->name == name)
      return build(entry->arguments, entry->build);
  if (name == "mean")
    return build("", [](MetricInput &in) { return meanOf(in, in.prediction); });
  if (name == "sum")
    return build("", sumOf);
  if (name == "mean_metric_wrapper")
    return meanMetricWrapper(in);
  if (name == "root_mean_squared_error" && !in.sparse)
    return build("", rootMeanSquaredError);
  if (lookupLoss(name))
    return meanOfLoss(in, name);
  return MetricParts::failure("is not supported; use one of " + supportedMetrics());
}

bool mpc::isKnownMetric(StringRef name) {
  return llvm::any_of(allMetrics(),
                      [&](const MetricEntry *entry) { return entry->name == name; }) ||
         llvm::is_contained({"acc", "accuracy", "ce", "crossentropy", "mean", "mean_metric_wrapper",
                             "root_mean_squared_error", "sum"},
                            name) ||
         lookupLoss(name);
}

MetricParts mpc::buildMetric(MetricInput &in) {
  if (std::string problem = checkArguments(
          in.metric.config,
          {"from_logits", "from_sorted_ids", "multi_label", "sparse_y_pred", "sparse_y_true"},
          {"average", "axis", "class_aggregation", "curve", "dtype", "fn", "label_weights", "name",
           "reduction", "summation_method", "target_class_ids", "thresholds"});
      !problem.empty())
    return MetricParts::failure(problem);
  std::string name = canonicalName(in.metric.identifier);
  ArrayRef<int64_t> shape = tensorTypeOf(in.prediction).getShape();
  bool isBinary = !shape.empty() && shape.back() == 1;
  // The class Accuracy compares values; the name "accuracy" chooses by the shapes.
  if (name == "accuracy" && in.metric.isName && !in.metric.isFunction)
    name = isBinary && !in.sparse ? "binary_accuracy"
           : in.sparse            ? "sparse_categorical_accuracy"
                                  : "categorical_accuracy";
  if (name == "crossentropy")
    name = isBinary && !in.sparse ? "binary_crossentropy"
           : in.sparse            ? "sparse_categorical_crossentropy"
                                  : "categorical_crossentropy";
  return buildNamed(in, name);
}

bool mpc::takesClasses(const KerasObject &metric) {
  std::string name = canonicalName(metric.identifier);
  if (StringRef(name).starts_with("sparse_"))
    return true;
  bool isIntersection = name == "io_u" || name == "mean_io_u";
  return isIntersection && metric.boolean("sparse_y_true", true) &&
         !metric.boolean("sparse_y_pred", true);
}

std::string mpc::supportedMetrics() {
  SmallVector<StringRef> names{"accuracy", "crossentropy", "mean", "root_mean_squared_error",
                               "sum"};
  for (const MetricEntry *entry : allMetrics())
    names.push_back(entry->name);
  std::string losses = supportedLosses();
  SmallVector<StringRef> more;
  StringRef(losses).split(more, ", ");
  names.append(more);
  llvm::sort(names);
  names.erase(llvm::unique(names), names.end());
  return llvm::join(names, ", ");
}
