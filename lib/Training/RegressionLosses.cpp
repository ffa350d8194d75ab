// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Distances between values and between distributions (keras/src/losses/losses.py), in float32.
#include "lib/Training/Losses.h"

#include <cmath>

using namespace mlir;
using namespace mpc;

/// Keras reduces the last dimension by its mean.
static SampleLoss meanOfLast(LossInput &in, Value elements) {
  return {in.e.reduceLast(ReduceKind::Mean, elements), Value(), in.rank() > 1};
}

static SampleLoss meanSquaredError(LossInput &in) {
  return meanOfLast(in, in.e.square(in.e.sub(in.prediction, in.target)));
}

static SampleLoss meanAbsoluteError(LossInput &in) {
  return meanOfLast(in, in.e.abs(in.e.sub(in.prediction, in.target)));
}

static SampleLoss meanAbsolutePercentageError(LossInput &in) {
  Expression &e = in.e;
  Value divisor = e.maximum(e.abs(in.target), e.constant(kEpsilon));
  Value difference = e.abs(e.div(e.sub(in.target, in.prediction), divisor));
  return {e.mul(e.constant(100), e.reduceLast(ReduceKind::Mean, difference)), Value(),
          in.rank() > 1};
}

static SampleLoss meanSquaredLogarithmicError(LossInput &in) {
  Expression &e = in.e;
  auto log = [&](Value value) {
    return e.log(e.add(e.maximum(value, e.constant(kEpsilon)), e.constant(1)));
  };
  return meanOfLast(in, e.square(e.sub(log(in.prediction), log(in.target))));
}

static SampleLoss cosineSimilarity(LossInput &in) {
  Expression &e = in.e;
  int64_t axis = in.axis();
  Value product = e.mul(e.normalize(in.target, axis, in.rules.leastNorm),
                        e.normalize(in.prediction, axis, in.rules.leastNorm));
  return {e.negate(e.reduce(ReduceKind::Sum, product, {axis})), Value(), axis != 0};
}

static SampleLoss huber(LossInput &in) {
  Expression &e = in.e;
  double delta = in.loss.number("delta", 1);
  Value error = e.sub(in.prediction, in.target), size = e.abs(error);
  Value square = e.mul(e.constant(0.5), e.square(error));
  Value line = e.sub(e.mul(e.constant(delta), size), e.constant(0.5 * delta * delta));
  return meanOfLast(
      in, e.select(e.compare(ComparePredicate::LE, size, e.constant(delta)), square, line));
}

static SampleLoss logCosh(LossInput &in) {
  Expression &e = in.e;
  Value x = e.sub(in.prediction, in.target);
  Value values = e.add(x, e.softplus(e.mul(x, e.constant(-2))));
  return meanOfLast(in, e.sub(values, e.constant(std::log(2.0))));
}

static SampleLoss klDivergence(LossInput &in) {
  Expression &e = in.e;
  Value target = e.clip(in.target, kEpsilon, 1), p = e.clip(in.prediction, kEpsilon, 1);
  Value terms = e.mul(target, e.log(e.div(target, p)));
  return {e.reduceLast(ReduceKind::Sum, terms), Value(), in.rank() > 1};
}

static SampleLoss poisson(LossInput &in) {
  Expression &e = in.e;
  Value log = e.log(e.add(in.prediction, e.constant(kEpsilon)));
  return meanOfLast(in, e.sub(in.prediction, e.mul(in.target, log)));
}

ArrayRef<LossEntry> mpc::regressionLosses() {
  static const LossEntry table[] = {
      {"cosine_similarity", TargetKind::Values, "axis", cosineSimilarity},
      {"huber", TargetKind::Values, "delta", huber},
      {"kl_divergence", TargetKind::Values, "", klDivergence},
      {"log_cosh", TargetKind::Values, "", logCosh},
      {"mean_absolute_error", TargetKind::Values, "", meanAbsoluteError},
      {"mean_absolute_percentage_error", TargetKind::Values, "", meanAbsolutePercentageError},
      {"mean_squared_error", TargetKind::Values, "", meanSquaredError},
      {"mean_squared_logarithmic_error", TargetKind::Values, "", meanSquaredLogarithmicError},
      {"poisson", TargetKind::Values, "", poisson},
  };
  return table;
}
