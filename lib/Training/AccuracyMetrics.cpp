// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The accuracy family (keras/src/metrics/accuracy_metrics.py).
#include "lib/Training/Metrics.h"

using namespace mlir;
using namespace mpc;

static Value equalAsFloat(Expression &e, Value a, Value b) {
  return e.toFloat(e.compare(ComparePredicate::EQ, a, b));
}

static MetricParts needsValues() {
  return MetricParts::failure("needs targets with a value per element");
}
static MetricParts needsClasses() { return MetricParts::failure("needs class indices as targets"); }

static MetricParts accuracy(MetricInput &in) {
  if (in.sparse)
    return needsValues();
  return meanOf(in, equalAsFloat(in.e, in.target, in.prediction));
}

static MetricParts binaryAccuracy(MetricInput &in) {
  if (in.sparse)
    return needsValues();
  Expression &e = in.e;
  Value threshold = e.constant(in.metric.number("threshold", 0.5));
  Value predicted = e.toFloat(e.compare(ComparePredicate::GT, in.prediction, threshold));
  return meanOf(in, equalAsFloat(e, predicted, in.target));
}

static MetricParts categoricalAccuracy(MetricInput &in) {
  if (in.sparse)
    return needsValues();
  int64_t last = in.rank() - 1;
  return meanOf(in,
                equalAsFloat(in.e, in.e.argmax(in.target, last), in.e.argmax(in.prediction, last)));
}

static MetricParts sparseCategoricalAccuracy(MetricInput &in) {
  if (!in.sparse)
    return needsClasses();
  return meanOf(in, equalAsFloat(in.e, in.target, in.e.argmax(in.prediction, in.rank() - 1)));
}

/// Fewer than k classes score higher than the right one; false where a score is not finite and
/// where there is no such class (tf.math.in_top_k).
static MetricParts topK(MetricInput &in, Value classes) {
  Expression &e = in.e;
  Value hot = e.oneHot(classes, tensorTypeOf(in.prediction).getShape().back());
  // Sum of the selected score alone: a product with 0 would turn an infinite score elsewhere into
  // NaN.
  Value isRight = e.compare(ComparePredicate::GT, hot, e.constant(0));
  Value score = e.reduceLast(ReduceKind::Sum, e.select(isRight, in.prediction, e.constant(0)),
                             /*keepDims=*/true);
  Value higher = e.toFloat(e.compare(ComparePredicate::GT, in.prediction, score));
  Value count = e.reduceLast(ReduceKind::Sum, higher);
  Value hit = e.compare(ComparePredicate::LT, count, e.constant(in.metric.number("k", 5)));
  Value finite = IsFiniteOp::create(e.builder, e.loc, in.prediction);
  hit = e.logicalAnd(hit, e.reduceLast(ReduceKind::All, finite));
  hit = e.logicalAnd(hit, e.reduceLast(ReduceKind::Any, isRight));
  return meanOf(in, e.toFloat(hit));
}

static MetricParts topKCategoricalAccuracy(MetricInput &in) {
  if (in.sparse)
    return needsValues();
  return topK(in, in.e.argmax(in.target, in.rank() - 1));
}

static MetricParts sparseTopKCategoricalAccuracy(MetricInput &in) {
  if (!in.sparse)
    return needsClasses();
  if (!in.metric.boolean("from_sorted_ids", false))
    return topK(in, in.target);
  // The predictions are class indices, best first.
  Expression &e = in.e;
  int64_t last = in.rank() - 1;
  int64_t k = std::min<int64_t>(int64_t(in.metric.number("k", 5)),
                                tensorTypeOf(in.prediction).getShape().back());
  Value equal = e.compare(ComparePredicate::EQ, e.slice(in.prediction, last, 0, k),
                          e.expandDims(e.toFloat(in.target), last));
  return meanOf(in, e.toFloat(e.reduceLast(ReduceKind::Any, equal)));
}

ArrayRef<MetricEntry> mpc::accuracyMetrics() {
  static const MetricEntry table[] = {
      {"accuracy", "", accuracy},
      {"binary_accuracy", "threshold", binaryAccuracy},
      {"categorical_accuracy", "", categoricalAccuracy},
      {"sparse_categorical_accuracy", "", sparseCategoricalAccuracy},
      {"sparse_top_k_categorical_accuracy", "from_sorted_ids k", sparseTopKCategoricalAccuracy},
      {"top_k_categorical_accuracy", "k", topKCategoricalAccuracy},
  };
  return table;
}
