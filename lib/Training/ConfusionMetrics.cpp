// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Metrics on confusion counts (keras/src/metrics/confusion_metrics.py): the counts themselves,
// precision and recall, and one of two rates where the other is high enough.
#include "lib/Training/AreaUnderCurve.h"
#include "lib/Training/Thresholds.h"

using namespace mlir;
using namespace mpc;

/// A vector of one element becomes a scalar, as Keras returns it.
static Value unwrap(Expression &e, Value vector) {
  auto type = tensorTypeOf(vector);
  if (type.getNumElements() != 1)
    return vector;
  return ReshapeOp::create(e.builder, e.loc, RankedTensorType::get({}, type.getElementType()),
                           vector);
}

static std::string checkThresholds(const Thresholds &thresholds) {
  if (llvm::any_of(thresholds.values, [](double t) { return !(t >= 0 && t <= 1); }))
    return "has thresholds outside [0, 1]";
  return "";
}

template <Value ConfusionCounts::*count> static MetricParts counted(MetricInput &in) {
  Thresholds thresholds = Thresholds::parse(in.metric, 0.5);
  if (std::string problem = checkThresholds(thresholds); !problem.empty())
    return MetricParts::failure(problem);
  ConfusionCounts counts = countConfusion(in, thresholds, {});
  if (!counts.problem.empty())
    return MetricParts::failure(counts.problem);
  MetricParts parts;
  parts.states = {{"accumulator", counts.*count}};
  parts.result = [](Expression &e, ValueRange states) { return unwrap(e, states[0]); };
  return parts;
}

/// true positives / (true positives + `wrong`)
static MetricParts share(MetricInput &in, StringRef name, Value ConfusionCounts::*wrong) {
  CountOptions options{in.metric.optionalInteger("top_k"), in.metric.optionalInteger("class_id")};
  bool given = !in.metric.numbers("thresholds").empty();
  Thresholds thresholds = Thresholds::parse(in.metric, options.topK ? -1e10 : 0.5);
  if (std::string problem = given ? checkThresholds(thresholds) : ""; !problem.empty())
    return MetricParts::failure(problem);
  ConfusionCounts counts = countConfusion(in, thresholds, options);
  if (!counts.problem.empty())
    return MetricParts::failure(counts.problem);
  MetricParts parts;
  parts.states = {{"true_positives", counts.truePositives}, {name.str(), counts.*wrong}};
  parts.result = [](Expression &e, ValueRange states) {
    return unwrap(e, e.divideNoNan(states[0], e.add(states[0], states[1])));
  };
  return parts;
}

static MetricParts precision(MetricInput &in) {
  return share(in, "false_positives", &ConfusionCounts::falsePositives);
}
static MetricParts recall(MetricInput &in) {
  return share(in, "false_negatives", &ConfusionCounts::falseNegatives);
}

namespace {
/// The four states are true positives, false positives, true negatives, false negatives.
enum Rate { Sensitivity, Specificity, Precision };
} // namespace

static Value rateOf(Expression &e, ValueRange s, Rate rate) {
  Value part = rate == Specificity ? s[2] : s[0];
  Value rest = rate == Sensitivity ? s[3] : s[1];
  return e.divideNoNan(part, e.add(part, rest));
}

/// The largest `wanted` among the thresholds where `bounded` reaches the config's bound.
static MetricParts bestRate(MetricInput &in, Rate wanted, Rate bounded, StringRef boundName) {
  double bound = in.metric.number(boundName, -1);
  int64_t count = in.metric.optionalInteger("num_thresholds").value_or(200);
  if (!(bound >= 0 && bound <= 1) || count < 1 || count > 65536)
    return MetricParts::failure("needs " + boundName +
                                " in [0, 1] and 1 <= num_thresholds <= 65536");
  CountOptions options;
  options.classId = in.metric.optionalInteger("class_id");
  ConfusionCounts counts = countConfusion(in, Thresholds::spread(count), options);
  if (!counts.problem.empty())
    return MetricParts::failure(counts.problem);
  MetricParts parts;
  parts.states = counts.states();
  parts.result = [wanted, bounded, bound](Expression &e, ValueRange states) -> Value {
    Value isEnough = e.compare(ComparePredicate::GE, rateOf(e, states, bounded), e.constant(bound));
    Value rates = e.select(isEnough, rateOf(e, states, wanted), e.constant(0));
    return e.maximum(e.reduceAll(ReduceKind::Max, rates), e.constant(0));
  };
  return parts;
}

static MetricParts sensitivityAtSpecificity(MetricInput &in) {
  return bestRate(in, Sensitivity, Specificity, "specificity");
}
static MetricParts specificityAtSensitivity(MetricInput &in) {
  return bestRate(in, Specificity, Sensitivity, "sensitivity");
}
static MetricParts precisionAtRecall(MetricInput &in) {
  return bestRate(in, Precision, Sensitivity, "recall");
}
static MetricParts recallAtPrecision(MetricInput &in) {
  return bestRate(in, Sensitivity, Precision, "precision");
}

ArrayRef<MetricEntry> mpc::confusionMetrics() {
  static const MetricEntry table[] = {
      {"auc",
       "curve from_logits label_weights multi_label num_labels num_thresholds summation_method "
       "thresholds",
       areaUnderCurve},
      {"false_negatives", "thresholds", counted<&ConfusionCounts::falseNegatives>},
      {"false_positives", "thresholds", counted<&ConfusionCounts::falsePositives>},
      {"precision", "class_id thresholds top_k", precision},
      {"precision_at_recall", "class_id num_thresholds recall", precisionAtRecall},
      {"recall", "class_id thresholds top_k", recall},
      {"recall_at_precision", "class_id num_thresholds precision", recallAtPrecision},
      {"sensitivity_at_specificity", "class_id num_thresholds specificity",
       sensitivityAtSpecificity},
      {"specificity_at_sensitivity", "class_id num_thresholds sensitivity",
       specificityAtSensitivity},
      {"true_negatives", "thresholds", counted<&ConfusionCounts::trueNegatives>},
      {"true_positives", "thresholds", counted<&ConfusionCounts::truePositives>},
  };
  return table;
}
