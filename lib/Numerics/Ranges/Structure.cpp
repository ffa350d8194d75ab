// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Ranges of constants, of ops that differ between training and inference, of random numbers and of
// loops over steps.
#include "lib/Numerics/Ranges/RangeModels.h"

using namespace mlir;
using namespace mpc;

/// Ops that a loop bounds, over all of its steps: beyond, nothing is said of its results.
static constexpr int64_t kMostOps = int64_t(1) << 22;

static void deriveConstant(ConstantOp op, RangeArguments &arguments) {
  ReferenceTensor value;
  auto reference = cast<ReferenceOpInterface>(op.getOperation());
  if (failed(reference.evaluate({}, value)))
    return arguments.setExact(0, Bound::anyOf(arguments.typeOf(0)));
  Bound bound = Bound::ofElements(std::make_shared<const ReferenceTensor>(std::move(value)));
  // Exact arithmetic has the number as it was before it was rounded to this type.
  if (op.getExact())
    bound.error = std::max(std::abs(op.getExact()->convertToDouble() - bound.low),
                           std::abs(op.getExact()->convertToDouble() - bound.high));
  arguments.setExact(0, std::move(bound));
}

/// The loss scale is not there yet: IR in which it is has no such op.
static void deriveGradientSeed(GradientSeedOp, RangeArguments &arguments) {
  arguments.setExact(0, Bound::of(1, 1));
}

static bool isSame(const Bound &a, const Bound &b) {
  return a.low == b.low && a.high == b.high && a.mayBeNan == b.mayBeNan && a.error == b.error;
}

/// The bound of inference, or of training where that is bounded.
static void setByMode(RangeArguments &arguments, const Bound &inference, const Bound &training) {
  if (!arguments.analysis.getFacts().training)
    return arguments.setExact(0, inference);
  if (!isSame(inference, training))
    arguments.analysis.noteTraining();
  arguments.setExact(0, training);
}

/// Which value it is decides about what operands share, too.
static void deriveInTraining(InTrainingOp, RangeArguments &arguments) {
  const bool training = arguments.analysis.getFacts().training;
  if (training)
    arguments.analysis.noteTraining();
  const Bound &bound = arguments.in(training ? 0 : 1);
  arguments.setExact(0, hull(bound, bound));
}

static void deriveDropout(DropoutOp op, RangeArguments &arguments) {
  const Bound &input = arguments.in(0);
  const Type type = arguments.typeOf(0);
  const double rate = op.getRate().convertToDouble();
  // The rounding of the factor may be as small as a unit of double.
  const long double exact = rate < 1 ? 1 / (1 - static_cast<long double>(rate)) : kUnbounded;
  const double scale = roundTo(type, static_cast<double>(exact));
  if (!std::isfinite(scale))
    return setByMode(arguments, hull(input, input), Bound::anyOf(type));
  Bound result = {std::min(input.low, 0.0) * scale, std::max(input.high, 0.0) * scale,
                  input.mayBeNan || std::isinf(input.magnitude()),
                  input.error * scale + (input.magnitude() + input.error) *
                                            static_cast<double>(std::abs(scale - exact)),
                  nullptr};
  result.widen();
  // In inference the input stays as it is.
  setByMode(arguments, hull(input, input), rounded(result, type));
}

/// sqrt(-2 ln u) is at most 5.89 for u of 2^-25 and more.
static void deriveNormalNoise(NormalNoiseOp op, RangeArguments &arguments) {
  const double spread = std::abs(op.getStddev().convertToDouble()) * 5.9,
               mean = op.getMean().convertToDouble();
  const double slack = (spread + std::abs(mean)) * functionSlack(arguments.typeOf(0)) * 4;
  Bound result = Bound::of(mean - spread - slack, mean + spread + slack, slack);
  result.widen();
  arguments.setRounded(0, result);
}

static void deriveUniformNoise(UniformNoiseOp op, RangeArguments &arguments) {
  const double low = op.getLow().convertToDouble(), high = op.getHigh().convertToDouble();
  const double slack = (std::abs(low) + std::abs(high)) * functionSlack(arguments.typeOf(0));
  Bound result = Bound::of(std::min(low, high) - slack, std::max(low, high) + slack, slack);
  result.widen();
  arguments.setRounded(0, result);
}

/// Step by step, until nothing changes any more.
static void deriveScan(ScanOp op, RangeArguments &arguments) {
  ArrayRef<Bound> operands = arguments.all();
  const size_t carriedCount = op.getInits().size();
  SmallVector<Bound> step(operands);
  // A slice is not the whole constant.
  for (Bound &slice : MutableArrayRef(step).slice(carriedCount, op.getScanned().size()))
    slice.constant = nullptr;
  SmallVector<Bound> stacked;
  int64_t bounded = 0;
  const auto opsPerStep = int64_t(op.getBody().front().getOperations().size());
  for (int64_t i = 0, steps = int64_t(op.getSteps()); i < steps; ++i) {
    bounded += opsPerStep;
    if (bounded > kMostOps) {
      // The values of the body, too: they are listed with what is known of them.
      SmallVector<Bound> unknown;
      for (BlockArgument argument : op.getBody().getArguments())
        unknown.push_back(Bound::anyOf(elementTypeOf(argument)));
      arguments.analysis.run(op.getBody().front(), unknown);
      for (unsigned result = 0; result < op->getNumResults(); ++result)
        arguments.setExact(result, Bound::anyOf(arguments.typeOf(result)));
      return;
    }
    SmallVector<Bound> yielded = arguments.analysis.run(op.getBody().front(), step);
    bool isFixed = true;
    for (size_t c = 0; c < carriedCount; ++c) {
      isFixed &= isSame(step[c], yielded[c]);
      step[c] = yielded[c];
      step[c].constant = nullptr;
    }
    for (size_t s = carriedCount; s < yielded.size(); ++s)
      if (i == 0)
        stacked.push_back(hull(yielded[s], yielded[s]));
      else
        stacked[s - carriedCount] = hull(stacked[s - carriedCount], yielded[s]);
    if (isFixed)
      break;
  }
  for (size_t c = 0; c < carriedCount; ++c)
    arguments.setExact(unsigned(c), step[c]);
  for (auto [s, bound] : llvm::enumerate(stacked))
    arguments.setExact(unsigned(carriedCount + s), bound);
}

void mpc::attachStructureRanges(MLIRContext &context) {
  attachRange<ConstantOp, deriveConstant>(context);
  attachRange<GradientSeedOp, deriveGradientSeed>(context);
  attachRange<InTrainingOp, deriveInTraining, FormKind::OfRun>(context);
  attachRange<DropoutOp, deriveDropout>(context);
  attachRange<NormalNoiseOp, deriveNormalNoise>(context);
  attachRange<UniformNoiseOp, deriveUniformNoise>(context);
  attachRange<ScanOp, deriveScan>(context);
}
