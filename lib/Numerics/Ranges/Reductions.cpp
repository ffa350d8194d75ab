// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Ranges of reductions, statistics, softmax and pools.
#include "lib/Numerics/Ranges/RangeModels.h"

using namespace mlir;
using namespace mpc;

/// Elements along `axes`; infinite where the batch is among them.
static double countElementsOf(RankedTensorType type, ArrayRef<int64_t> axes) {
  double count = 1;
  for (int64_t axis : axes)
    count *= type.isDynamicDim(axis) ? kUnbounded : double(type.getDimSize(axis));
  return count;
}

/// The mean of `count` elements, whose sum is made in any order; nothing where that overflows.
static Bound meanOf(const Bound &input, double count, Type type) {
  const double slack = sumSlack(type, count + 2);
  const double largest = type.isF64() ? std::numeric_limits<double>::max() : 0x1.fffffep127;
  if (!input.isFinite() || !(input.magnitude() * count * (1 + slack) < largest))
    return {};
  const double off = input.magnitude() * slack + 0x1p-126;
  Bound result = {input.low - off, input.high + off, false, input.error + off, nullptr};
  result.widen();
  return result;
}

static void deriveReduce(ReduceOp op, RangeArguments &arguments) {
  const Bound &input = arguments.in(0);
  const Type type = arguments.typeOf(0);
  const double count = countElementsOf(tensorTypeOf(op.getInput()), op.getAxes());
  switch (op.getKind()) {
  case ReduceKind::Max:
  case ReduceKind::Min:
  case ReduceKind::All:
  case ReduceKind::Any:
    return arguments.setExact(0, hull(input, input));
  case ReduceKind::Mean:
    // A mean of any number of samples is among them, but for the sum that is made first.
    return arguments.setRounded(0, std::isfinite(count) ? meanOf(input, count, type) : Bound());
  case ReduceKind::Sum:
    break;
  }
  Bound result = {input.low * count, input.high * count, false, input.error * count, nullptr};
  if (!isa<FloatType>(type)) {
    const Bound all = Bound::anyOf(type);
    const bool fits = std::isfinite(count) && result.low >= all.low && result.high <= all.high;
    return arguments.setExact(0, fits ? result : all);
  }
  const Bound mean = std::isfinite(count) ? meanOf(input, count, type) : Bound();
  if (!mean.isFinite())
    return arguments.setExact(0, Bound());
  const double off = input.magnitude() * count * sumSlack(type, count + 2) + 0x1p-126;
  result.low -= off, result.high += off, result.error += off;
  result.widen();
  arguments.setRounded(0, result);
}

static void deriveMoments(MomentsOp op, RangeArguments &arguments) {
  const Bound &input = arguments.in(0);
  const Type type = arguments.typeOf(0);
  const double count = countElementsOf(tensorTypeOf(op.getInput()), op.getAxes());
  const Bound mean = std::isfinite(count) ? meanOf(input, count, type) : Bound();
  arguments.setRounded(0, mean);
  // Popoviciu: at most a quarter of the squared range; a mean that is off by d adds d^2.
  const double range = input.high - input.low, slack = sumSlack(type, count + 4);
  const double most = range * range / 4 * (1 + slack) + std::pow(input.magnitude() * slack, 2) * 2 +
                      range * input.magnitude() * slack + 0x1p-126;
  if (!mean.isFinite() || !(most * count < 0x1p127))
    return arguments.setExact(1, Bound());
  // The square of a deviation moves by 2 |deviation| times what its argument and the mean move by.
  const double moved = 2 * input.error + input.magnitude() * slack;
  Bound variance = Bound::of(0, most, 2 * (range + moved) * moved + most * slack);
  variance.widen();
  variance.low = 0;
  arguments.setRounded(1, variance);
}

/// e^(x - max) / sum in float32 is off by the rounding of x - max, too.
static double softmaxSlack(RankedTensorType type, int64_t axis, double range) {
  const double unit = functionSlack(type.getElementType());
  const double count = type.isDynamicDim(axis) ? kUnbounded : double(type.getDimSize(axis));
  return unit * 2 + (range + count) * unit / 16;
}

static void deriveSoftmax(SoftmaxOp op, RangeArguments &arguments) {
  const Bound &input = arguments.in(0);
  const double slack =
      softmaxSlack(tensorTypeOf(op.getInput()), op.getAxis(), input.high - input.low);
  if (!input.isFinite() || !(slack < 0.5)) {
    // Infinities may give NaN; every number is a probability.
    return arguments.setExact(0, {0, 1 + 0x1p-7, true, kUnbounded, nullptr});
  }
  const double moved = input.error < 100 ? std::expm1(2 * input.error) : kUnbounded;
  arguments.setRounded(0, {0, 1 + slack, false, std::min(moved, 1.0) + slack, nullptr});
}

static void deriveLogSoftmax(LogSoftmaxOp op, RangeArguments &arguments) {
  const Bound &input = arguments.in(0);
  auto type = tensorTypeOf(op.getInput());
  const double range = input.high - input.low;
  const double slack = softmaxSlack(type, op.getAxis(), range);
  if (!input.isFinite() || !(slack < 0.5))
    return arguments.setExact(0, Bound());
  const double count = double(type.getDimSize(op.getAxis()));
  Bound result = {-(range + std::log(count)) * (1 + slack) - slack, slack, false,
                  2 * input.error + slack * (1 + range + std::log(count)), nullptr};
  result.widen();
  arguments.setRounded(0, result);
}

/// Sums of targets times minus logarithms of probabilities. A row of a one_hot has a single term.
static void deriveCrossEntropy(SoftmaxCrossEntropyOp op, RangeArguments &arguments) {
  const Bound &logits = arguments.in(0), &target = arguments.in(1);
  const Type sumType = arguments.typeOf(0);
  auto type = tensorTypeOf(op.getLogits());
  const double range = logits.high - logits.low, count = double(type.getShape().back());
  const double slack = softmaxSlack(type, type.getRank() - 1, range);
  const double most = (range + std::log(count)) * (1 + slack) + slack;
  const double terms = op.getTarget().getDefiningOp<OneHotOp>() ? 1 : count;
  const double magnitude = terms * target.magnitude() * most;
  const double off = magnitude * sumSlack(sumType, count + 2) + count * 0x1p-126;
  const double largest = sumType.isF64() ? std::numeric_limits<double>::max() : 0x1.fffffep127;
  if (!logits.isFinite() || !target.isFinite() || !(slack < 0.5) || !(magnitude + off < largest))
    return arguments.setExact(0, Bound());
  const double moved = 2 * logits.error + slack * (1 + range + std::log(count));
  Bound result =
      Bound::of(terms * std::min({target.low * most, -target.high * slack}) - off,
                terms * std::max({target.high * most, -target.low * slack}) + off,
                terms * (target.magnitude() * moved + (most + moved) * target.error) + off);
  result.widen();
  arguments.setRounded(0, result);
}

static void derivePool(PoolOp op, RangeArguments &arguments) {
  const Bound &input = arguments.in(0);
  if (op.getKind() == ReduceKind::Max)
    return arguments.setExact(0, hull(input, input));
  double count = 1;
  for (const PoolAxis &axis : poolAxes(tensorTypeOf(op.getInput()), tensorTypeOf(op.getResult()),
                                       op.getWindow(), op.getStrides(), op.getPaddingLow()))
    count *= double(axis.mostElements());
  arguments.setRounded(0, meanOf(input, count, arguments.typeOf(0)));
}

void mpc::attachReductionRanges(MLIRContext &context) {
  attachRange<ReduceOp, deriveReduce>(context);
  attachRange<MomentsOp, deriveMoments>(context);
  attachRange<SoftmaxOp, deriveSoftmax>(context);
  attachRange<LogSoftmaxOp, deriveLogSoftmax>(context);
  attachRange<SoftmaxCrossEntropyOp, deriveCrossEntropy>(context);
  attachRange<PoolOp, derivePool>(context);
}
