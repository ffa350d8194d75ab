// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Metrics that are means over samples: the accuracy family (keras/src/metrics/accuracy_metrics.py)
// and every loss. Predictions are widened first, unlike Keras, whose squares can overflow float16.
#include "lib/Training/Metrics.h"
#include "lib/Training/Losses.h"

using namespace mlir;
using namespace mpc;

static Value equalAsFloat(Expression &e, Value a, Value b) {
  return e.toFloat(e.compare(ComparePredicate::EQ, a, b));
}

static Value argmax(Expression &e, Value values) {
  return ArgMaxOp::create(e.builder, e.loc, values, uint64_t(tensorTypeOf(values).getRank() - 1));
}

/// mean over the last dimension of (target == (prediction > threshold))
static Value binaryAccuracy(Expression &e, const KerasObject &metric, Value target,
                            Value prediction) {
  Value threshold = e.constant(metric.number("threshold", 0.5));
  Value predicted = e.toFloat(e.compare(ComparePredicate::GT, prediction, threshold));
  return e.reduceLast(ReduceKind::Mean, equalAsFloat(e, predicted, e.toFloat(target)));
}

/// Fewer than k classes score higher than the right one (tf.math.in_top_k).
static Value topK(Expression &e, const KerasObject &metric, Value classes, Value prediction) {
  Value hot = e.oneHot(classes, tensorTypeOf(prediction).getShape().back());
  // Sum of the selected score alone: a product with 0 would turn an infinite score elsewhere into
  // NaN.
  Value isRight = e.compare(ComparePredicate::GT, hot, e.constant(0));
  Value score = e.reduceLast(ReduceKind::Sum, e.select(isRight, prediction, e.constant(0)),
                             /*keepDims=*/true);
  Value higher = e.toFloat(e.compare(ComparePredicate::GT, prediction, score));
  Value count = e.reduceLast(ReduceKind::Sum, higher);
  return e.toFloat(e.compare(ComparePredicate::LT, count, e.constant(metric.number("k", 5))));
}

SampleMetric mpc::buildMetric(Expression &e, const KerasObject &metric, Value target,
                              Value prediction, bool sparse) {
  std::string name = canonicalName(metric.identifier);
  // The class Accuracy compares values; the name "accuracy" chooses by the shapes.
  if (name == "accuracy" && !metric.isName)
    return {equalAsFloat(e, e.toFloat(target), prediction)};
  if (name == "mean")
    return {prediction};
  int64_t classes =
      tensorTypeOf(prediction).getShape().empty() ? 0 : tensorTypeOf(prediction).getShape().back();
  if (name == "accuracy")
    name = classes == 1 ? "binary_accuracy"
           : sparse     ? "sparse_categorical_accuracy"
                        : "categorical_accuracy";
  if (name == "crossentropy")
    name = classes == 1 ? "binary_crossentropy"
           : sparse     ? "sparse_categorical_crossentropy"
                        : "categorical_crossentropy";
  if (name == "binary_accuracy" && !sparse)
    return {binaryAccuracy(e, metric, target, prediction)};
  if (name == "categorical_accuracy" && !sparse)
    return {equalAsFloat(e, argmax(e, target), argmax(e, prediction))};
  if (name == "sparse_categorical_accuracy" && sparse)
    return {equalAsFloat(e, target, argmax(e, prediction))};
  if (name == "top_k_categorical_accuracy" && !sparse)
    return {topK(e, metric, argmax(e, target), prediction)};
  if (name == "sparse_top_k_categorical_accuracy" && sparse)
    return {topK(e, metric, target, prediction)};
  bool root = name == "root_mean_squared_error";
  const LossEntry *loss = lookupLoss(root ? "mean_squared_error" : StringRef(name));
  if (!loss || loss->sparse != sparse)
    return {};
  return {loss->build(e, metric, target, prediction).values, root};
}

std::string mpc::supportedMetrics() {
  return "accuracy, mean, binary_accuracy, categorical_accuracy, sparse_categorical_accuracy, "
         "top_k_categorical_accuracy, sparse_top_k_categorical_accuracy, crossentropy, "
         "root_mean_squared_error, " +
         supportedLosses();
}
