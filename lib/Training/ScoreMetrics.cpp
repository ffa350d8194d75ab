// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// F scores (keras/src/metrics/f_score_metrics.py) and R2 (regression_metrics.py).
#include "lib/Training/Losses.h"
#include "lib/Training/Metrics.h"

#include <limits>

using namespace mlir;
using namespace mpc;

static std::string checkMatrix(MetricInput &in) {
  if (in.sparse || in.rank() != 2)
    return "needs an output and targets of shape (batch, dimension)";
  return "";
}

static MetricParts fScore(MetricInput &in, double beta) {
  Expression &e = in.e;
  if (std::string problem = checkMatrix(in); !problem.empty())
    return MetricParts::failure(problem);
  StringRef average = in.metric.string("average", "");
  if (!average.empty() && average != "micro" && average != "macro" && average != "weighted")
    return MetricParts::failure("has average '" + average +
                                "'; expected null, micro, macro or weighted");
  std::optional<double> threshold = in.metric.optionalNumber("threshold");
  if (beta <= 0 || (threshold && (*threshold > 1 || *threshold <= 0)))
    return MetricParts::failure("needs beta > 0 and 0 < threshold <= 1");
  Value chosen;
  if (threshold) {
    chosen = e.compare(ComparePredicate::GT, in.prediction, e.constant(*threshold));
  } else {
    Value largest = e.reduceLast(ReduceKind::Max, in.prediction, /*keepDims=*/true);
    chosen = e.logicalAnd(e.compare(ComparePredicate::GE, in.prediction, largest),
                          e.compare(ComparePredicate::GT, e.abs(in.prediction), e.constant(1e-9)));
  }
  Value predicted = e.toFloat(chosen);
  bool isMicro = average == "micro";
  auto weighted = [&](Value value) {
    if (in.weights)
      value = e.mul(value, e.expandTo(in.weights, 2));
    return isMicro ? e.reduceAll(ReduceKind::Sum, value) : e.reduce(ReduceKind::Sum, value, {0});
  };
  MetricParts parts;
  parts.states = {{"true_positives", weighted(e.mul(predicted, in.target))},
                  {"false_positives", weighted(e.mul(predicted, e.complement(in.target)))},
                  {"false_negatives", weighted(e.mul(e.complement(predicted), in.target))},
                  {"intermediate_weights", weighted(in.target)}};
  parts.result = [beta, kind = average.str()](Expression &e, ValueRange states) -> Value {
    Value epsilon = e.constant(kEpsilon), right = states[0];
    Value precision = e.div(right, e.add(e.add(right, states[1]), epsilon));
    Value recall = e.div(right, e.add(e.add(right, states[2]), epsilon));
    Value sum = e.add(e.mul(e.constant(beta * beta), precision), recall);
    Value score =
        e.mul(e.div(e.mul(precision, recall), e.add(sum, epsilon)), e.constant(1 + beta * beta));
    if (kind.empty())
      return score;
    if (kind != "weighted")
      return e.reduceAll(ReduceKind::Mean, score);
    Value total = e.add(e.reduceAll(ReduceKind::Sum, states[3]), epsilon);
    return e.reduceAll(ReduceKind::Sum, e.mul(score, e.div(states[3], total)));
  };
  return parts;
}

static MetricParts fBetaScore(MetricInput &in) { return fScore(in, in.metric.number("beta", 1)); }
static MetricParts f1Score(MetricInput &in) { return fScore(in, 1); }

static MetricParts r2Score(MetricInput &in) {
  Expression &e = in.e;
  if (std::string problem = checkMatrix(in); !problem.empty())
    return MetricParts::failure(problem);
  const llvm::json::Value *given = in.metric.config.get("class_aggregation");
  std::string aggregation = "uniform_average";
  if (given)
    aggregation = given->getAsString().value_or("").str();
  double regressors = in.metric.number("num_regressors", 0);
  if ((!aggregation.empty() && aggregation != "uniform_average" &&
       aggregation != "variance_weighted_average") ||
      regressors < 0)
    return MetricParts::failure("needs class_aggregation null, uniform_average or "
                                "variance_weighted_average, and num_regressors >= 0");
  Value ones = e.onesLike(in.target);
  Value weights = in.weights ? e.mul(ones, e.expandTo(in.weights, 2)) : ones;
  auto sum = [&](Value value) { return e.reduce(ReduceKind::Sum, value, {0}); };
  Value weighted = e.mul(in.target, weights);
  MetricParts parts;
  parts.states = {{"num_samples", e.reduceAll(ReduceKind::Sum, ones)},
                  {"squared_sum", sum(e.mul(in.target, weighted))},
                  {"sum", sum(weighted)},
                  {"residual", sum(e.mul(e.square(e.sub(in.target, in.prediction)), weights))},
                  {"count", sum(weights)}};
  parts.result = [aggregation, regressors](Expression &e, ValueRange states) -> Value {
    Value samples = states[0],
          total = e.sub(states[1], e.mul(states[2], e.div(states[2], states[4])));
    Value scores = e.complement(e.div(states[3], total));
    Value infinity = e.constant(std::numeric_limits<double>::infinity());
    scores =
        e.select(e.compare(ComparePredicate::EQ, e.abs(scores), infinity), e.constant(0), scores);
    Value score = scores;
    if (aggregation == "uniform_average")
      score = e.reduceAll(ReduceKind::Mean, scores);
    else if (!aggregation.empty())
      score = e.div(e.reduceAll(ReduceKind::Sum, e.mul(total, scores)),
                    e.reduceAll(ReduceKind::Sum, total));
    if (regressors == 0)
      return score;
    // The adjusted score, where there are more samples than regressors.
    Value rest = e.sub(samples, e.constant(1)), count = e.constant(regressors);
    Value adjusted = e.complement(
        e.div(e.mul(e.complement(score), rest), e.sub(e.sub(samples, count), e.constant(1))));
    return e.select(e.compare(ComparePredicate::LT, count, rest), adjusted, score);
  };
  return parts;
}

ArrayRef<MetricEntry> mpc::scoreMetrics() {
  static const MetricEntry table[] = {{"f1_score", "average threshold", f1Score},
                                      {"f_beta_score", "average beta threshold", fBetaScore},
                                      {"r2_score", "class_aggregation num_regressors", r2Score}};
  return table;
}
