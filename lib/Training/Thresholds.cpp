// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Comparing predictions with thresholds and counting.
#include "lib/Training/Thresholds.h"
#include "lib/Training/Losses.h"

#include <cmath>

using namespace mlir;
using namespace mpc;

/// Keras's stand-in for a prediction outside the best k.
static constexpr double kNegativeInfinity = -1e10;

bool Thresholds::areEven(ArrayRef<double> values) {
  if (values.size() < 3)
    return false;
  for (size_t i = 0; i < values.size(); ++i) { // numpy.allclose with atol = epsilon
    double even = double(float(i) / float(values.size() - 1));
    if (!(std::fabs(values[i] - even) <= kEpsilon + 1e-5 * std::fabs(even)))
      return false;
  }
  return true;
}

Thresholds Thresholds::parse(const KerasObject &metric, double standard) {
  Thresholds thresholds;
  thresholds.values = metric.numbers("thresholds");
  if (thresholds.values.empty())
    thresholds.values = {standard};
  thresholds.even = areEven(thresholds.values);
  return thresholds;
}

Thresholds Thresholds::spread(int64_t count) {
  Thresholds thresholds;
  if (count == 1) {
    thresholds.values = {0.5};
    return thresholds;
  }
  thresholds.values.push_back(0);
  for (int64_t i = 0; i < count - 2; ++i)
    thresholds.values.push_back(double(i + 1) / double(count - 1));
  thresholds.values.push_back(1);
  thresholds.even = true;
  return thresholds;
}

/// Predictions among the best k of the last dimension, the first of equal ones.
static Value isAmongBest(Expression &e, Value prediction, int64_t k) {
  int64_t last = tensorTypeOf(prediction).getRank() - 1;
  int64_t extent = tensorTypeOf(prediction).getShape().back();
  Value own = e.expandDims(prediction, last + 1), other = e.expandDims(prediction, last);
  SmallVector<double> before(extent * extent, 0);
  for (int64_t i = 0; i < extent; ++i)
    for (int64_t j = 0; j < i; ++j)
      before[i * extent + j] = 1;
  Value isEqual = e.toFloat(e.compare(ComparePredicate::EQ, other, own));
  Value better = e.add(e.toFloat(e.compare(ComparePredicate::GT, other, own)),
                       e.mul(isEqual, e.constants(before, {extent, extent})));
  return e.compare(ComparePredicate::LT, e.reduceLast(ReduceKind::Sum, better),
                   e.constant(double(k)));
}

/// i1: whether the prediction is positive at each threshold; `values` are the thresholds in a shape
/// that broadcasts with the prediction.
static Value isPositive(Expression &e, Value prediction, const Thresholds &thresholds,
                        ArrayRef<int64_t> shape) {
  if (!thresholds.even)
    return e.compare(ComparePredicate::GT, prediction, e.constants(thresholds.values, shape));
  // The bucket of a prediction is the last threshold that it passes.
  size_t count = thresholds.values.size();
  Value place = e.mul(e.clip(prediction, 0, 1), e.constant(double(count - 1)));
  Value ceiling = e.negate(e.floor(e.negate(place)));
  Value bucket = e.sub(ceiling, e.constant(1));
  if (thresholds.widened)
    bucket = e.maximum(bucket, e.constant(0));
  SmallVector<double> indices;
  for (size_t i = 0; i < count; ++i)
    indices.push_back(double(i));
  return e.compare(ComparePredicate::GE, bucket, e.constants(indices, shape));
}

SmallVector<MetricParts::State> ConfusionCounts::states() const {
  return {{"true_positives", truePositives},
          {"false_positives", falsePositives},
          {"true_negatives", trueNegatives},
          {"false_negatives", falseNegatives}};
}

ConfusionCounts mpc::countConfusion(MetricInput &in, const Thresholds &thresholds,
                                    const CountOptions &options) {
  Expression &e = in.e;
  auto fail = [](const Twine &problem) {
    ConfusionCounts none;
    none.problem = problem.str();
    return none;
  };
  if (in.sparse)
    return fail("needs targets with a value per element");
  if (thresholds.values.size() > (1 << 16))
    return fail("has more than 65536 thresholds");
  Value prediction = in.prediction, target = in.target;
  int64_t last = in.rank() - 1, extent = tensorTypeOf(prediction).getShape().back();
  if (options.topK) {
    if (in.rank() < 2 || *options.topK < 1 || *options.topK > extent || extent > 4096)
      return fail("needs 1 <= top_k <= the number of classes, at most 4096");
    prediction = e.select(isAmongBest(e, prediction, *options.topK), prediction,
                          e.constant(kNegativeInfinity));
  }
  if (options.classId) {
    int64_t id = *options.classId < 0 ? *options.classId + extent : *options.classId;
    if (in.rank() < 2 || id < 0 || id >= extent)
      return fail("has a class_id that the output does not have");
    prediction = e.slice(prediction, last, id, 1);
    target = e.slice(target, last, id, 1);
  }
  Value isLabel = e.compare(ComparePredicate::NE, target, e.constant(0));
  Value weight = e.onesLike(target);
  if (in.weights)
    weight = e.mul(weight, e.expandTo(in.weights, in.rank()));
  if (!options.labelWeights.empty()) {
    if (int64_t(options.labelWeights.size()) != tensorTypeOf(target).getShape().back())
      return fail("has another number of label_weights than labels");
    weight = e.mul(weight, e.constants(options.labelWeights));
  }
  Value zero = e.constant(0);
  Value labels = e.select(isLabel, weight, zero), others = e.select(isLabel, zero, weight);
  int64_t count = int64_t(thresholds.values.size());
  // [batch, 1, labels] against [thresholds, 1], or [batch, …, 1] against [thresholds].
  int64_t place = options.multiLabel ? 1 : in.rank();
  SmallVector<int64_t> shape{count};
  if (options.multiLabel)
    shape.push_back(1);
  Value positive = isPositive(e, e.expandDims(prediction, place), thresholds, shape);
  auto sum = [&](Value value) {
    if (options.multiLabel)
      return e.reduce(ReduceKind::Sum, value, {0});
    auto axes = llvm::to_vector(llvm::seq<int64_t>(0, tensorTypeOf(value).getRank() - 1));
    return e.reduce(ReduceKind::Sum, value, axes);
  };
  auto amongPositive = [&](Value value) {
    return sum(e.select(positive, e.expandDims(value, place), zero));
  };
  auto total = [&](Value value) {
    return options.multiLabel ? e.reduce(ReduceKind::Sum, value, {0})
                              : e.reduceAll(ReduceKind::Sum, value);
  };
  ConfusionCounts counts;
  counts.truePositives = amongPositive(labels);
  counts.falsePositives = amongPositive(others);
  counts.falseNegatives = e.sub(total(labels), counts.truePositives);
  counts.trueNegatives = e.sub(total(others), counts.falsePositives);
  return counts;
}
