// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Correlations along an axis, averaged over samples (keras/src/metrics/correlation_metrics.py).
#include "lib/Training/Losses.h"
#include "lib/Training/Metrics.h"

using namespace mlir;
using namespace mpc;

namespace {
struct Moments {
  Expression &e;
  int64_t axis;

  Value mean(Value value) { return e.reduce(ReduceKind::Mean, value, {axis}, /*keepDims=*/true); }
  Value centred(Value value) { return e.sub(value, mean(value)); }
  Value variance(Value value) { return mean(e.square(centred(value))); }
};
} // namespace

static std::string check(MetricInput &in, Moments &moments) {
  int64_t axis = in.metric.optionalInteger("axis").value_or(-1);
  moments.axis = axis < 0 ? axis + in.rank() : axis;
  if (in.sparse || moments.axis < 1 || moments.axis >= in.rank())
    return "needs targets with a value per element and an axis of them that is not the batch";
  return "";
}

static MetricParts pearsonCorrelation(MetricInput &in) {
  Expression &e = in.e;
  Moments moments{e, 0};
  if (std::string problem = check(in, moments); !problem.empty())
    return MetricParts::failure(problem);
  auto normalised = [&](Value value) {
    value = moments.centred(value);
    return e.div(value, e.sqrt(moments.variance(value)));
  };
  Value product = e.mul(normalised(in.target), normalised(in.prediction));
  return meanOf(in, e.reduce(ReduceKind::Mean, product, {moments.axis}));
}

static MetricParts concordanceCorrelation(MetricInput &in) {
  Expression &e = in.e;
  Moments moments{e, 0};
  if (std::string problem = check(in, moments); !problem.empty())
    return MetricParts::failure(problem);
  Value targetMean = moments.mean(in.target), mean = moments.mean(in.prediction);
  // Keras centres the targets on the mean of the predictions.
  Value covariance = e.mul(e.sub(in.target, mean), e.sub(in.prediction, mean));
  Value norm = e.add(e.add(moments.variance(e.sub(in.target, targetMean)),
                           moments.variance(e.sub(in.prediction, mean))),
                     e.square(e.sub(targetMean, mean)));
  Value ratio = e.div(e.mul(e.constant(2), covariance), e.add(norm, e.constant(kEpsilon)));
  return meanOf(in, e.reduce(ReduceKind::Mean, ratio, {moments.axis}));
}

ArrayRef<MetricEntry> mpc::correlationMetrics() {
  static const MetricEntry table[] = {{"concordance_correlation", "axis", concordanceCorrelation},
                                      {"pearson_correlation", "axis", pearsonCorrelation}};
  return table;
}
