// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The area under the ROC, precision-recall or gain curve, summed over thresholds
// (keras/src/metrics/confusion_metrics.py, AUC).
#include "lib/Training/AreaUnderCurve.h"
#include "lib/Training/Losses.h"
#include "lib/Training/Thresholds.h"

using namespace mlir;
using namespace mpc;

namespace {
struct Curve {
  std::string kind, summation;
  bool multiLabel;
  SmallVector<double> labelWeights; // of multi-label curves
  int64_t count;                    // thresholds

  Value area(Expression &e, ValueRange states) const;

private:
  Value increments(Expression &e, ValueRange states) const;
  Value interpolated(Expression &e, ValueRange states) const;
  /// All but the last threshold, all but the first.
  Value upper(Expression &e, Value v) const { return e.slice(v, 0, 0, count - 1); }
  Value lower(Expression &e, Value v) const { return e.slice(v, 0, 1, count - 1); }
};
} // namespace

/// Davis and Goadrich's interpolation of the precision-recall curve.
Value Curve::interpolated(Expression &e, ValueRange s) const {
  Value zero = e.constant(0), one = e.constant(1), tp = s[0];
  Value right = e.sub(upper(e, tp), lower(e, tp)), p = e.add(tp, s[1]);
  Value pUpper = upper(e, p), pLower = lower(e, p);
  Value slope = e.divideNoNan(right, e.maximum(e.sub(pUpper, pLower), zero));
  Value intercept = e.sub(lower(e, tp), e.mul(slope, pLower));
  Value isSafe = e.logicalAnd(e.compare(ComparePredicate::GT, pUpper, zero),
                              e.compare(ComparePredicate::GT, pLower, zero));
  Value ratio = e.select(isSafe, e.divideNoNan(pUpper, e.maximum(pLower, zero)), one);
  Value terms = e.mul(slope, e.add(right, e.mul(intercept, e.log(ratio))));
  return e.divideNoNan(terms, e.maximum(e.add(lower(e, tp), lower(e, s[3])), zero));
}

Value Curve::increments(Expression &e, ValueRange s) const {
  Value tp = s[0], fp = s[1], tn = s[2], fn = s[3], x, y;
  Value recall = e.divideNoNan(tp, e.add(tp, fn));
  if (kind == "ROC") {
    x = e.divideNoNan(fp, e.add(fp, tn));
    y = recall;
  } else if (kind == "PR") {
    if (summation == "interpolation")
      return interpolated(e, s);
    x = recall;
    y = e.divideNoNan(tp, e.add(tp, fp));
  } else {
    Value scale = e.divideNoNan(e.add(tp, fn), e.add(tn, fp));
    Value isNone = e.compare(ComparePredicate::EQ, tp, e.constant(0));
    auto gain = [&](Value wrong, double otherwise) {
      Value value = e.complement(e.mul(scale, e.divideNoNan(wrong, tp)));
      return e.select(isNone, e.constant(otherwise), value);
    };
    x = e.maximum(gain(fn, 0), e.constant(0));
    y = gain(fp, 1);
  }
  Value first = upper(e, y), second = lower(e, y), height;
  if (summation == "interpolation")
    height = e.div(e.add(first, second), e.constant(2));
  else
    height = summation == "minoring" ? e.minimum(first, second) : e.maximum(first, second);
  return e.mul(e.sub(upper(e, x), lower(e, x)), height);
}

Value Curve::area(Expression &e, ValueRange states) const {
  Value terms = increments(e, states);
  if (!multiLabel)
    return e.reduceAll(ReduceKind::Sum, terms);
  Value byLabel = e.reduce(ReduceKind::Sum, terms, {0});
  if (labelWeights.empty())
    return e.reduceAll(ReduceKind::Mean, byLabel);
  Value weights = e.constants(labelWeights);
  return e.divideNoNan(e.reduceAll(ReduceKind::Sum, e.mul(byLabel, weights)),
                       e.reduceAll(ReduceKind::Sum, weights));
}

MetricParts mpc::areaUnderCurve(MetricInput &in) {
  Curve curve{in.metric.string("curve", "ROC").upper(),
              in.metric.string("summation_method", "interpolation").lower(),
              in.metric.boolean("multi_label", false),
              {},
              0};
  if (!llvm::is_contained({"ROC", "PR", "PRGAIN"}, curve.kind) ||
      !llvm::is_contained({"interpolation", "minoring", "majoring"}, curve.summation))
    return MetricParts::failure("needs curve ROC, PR or PRGAIN and summation_method "
                                "interpolation, minoring or majoring");
  Thresholds thresholds;
  SmallVector<double> given = in.metric.numbers("thresholds");
  if (in.metric.config.getArray("thresholds")) {
    llvm::sort(given);
    given.insert(given.begin(), 0);
    given.push_back(1);
    thresholds.values = given;
    thresholds.even = Thresholds::areEven(given);
  } else {
    int64_t count = in.metric.optionalInteger("num_thresholds").value_or(200);
    if (count < 2 || count > 65536)
      return MetricParts::failure("needs 2 <= num_thresholds <= 65536");
    thresholds = Thresholds::spread(count);
  }
  thresholds.values.front() = -kEpsilon;
  thresholds.values.back() = 1 + kEpsilon;
  thresholds.widened = true;
  curve.count = int64_t(thresholds.values.size());
  if (curve.multiLabel && in.rank() != 2)
    return MetricParts::failure("needs an output of shape (batch, labels) with multi_label");
  CountOptions options;
  options.multiLabel = curve.multiLabel;
  SmallVector<double> weights = in.metric.numbers("label_weights");
  (curve.multiLabel ? curve.labelWeights : options.labelWeights) = weights;
  if (!curve.labelWeights.empty() &&
      int64_t(weights.size()) != tensorTypeOf(in.prediction).getShape().back())
    return MetricParts::failure("has another number of label_weights than labels");
  MetricInput input = in;
  if (in.metric.boolean("from_logits", false))
    input.prediction = in.e.sigmoid(in.prediction);
  ConfusionCounts counts = countConfusion(input, thresholds, options);
  if (!counts.problem.empty())
    return MetricParts::failure(counts.problem);
  MetricParts parts;
  parts.states = counts.states();
  parts.result = [curve](Expression &e, ValueRange states) { return curve.area(e, states); };
  return parts;
}
