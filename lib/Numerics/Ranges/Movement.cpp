// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Ranges of casts, and of ops that move elements: weights stay known element by element.
#include "lib/Numerics/Ranges/RangeModels.h"

using namespace mlir;
using namespace mpc;

/// Weights beyond this many elements are known by their range alone: eight bytes each are kept.
static constexpr int64_t kMostElements = int64_t(1) << 26;

/// The op applied to a constant; null where it is none, or too large.
static std::shared_ptr<const ReferenceTensor> evaluate(Operation *op, const Bound &input) {
  if (!input.constant || input.constant->size() > kMostElements || op->getNumOperands() != 1)
    return nullptr;
  auto reference = dyn_cast<ReferenceOpInterface>(op);
  ReferenceTensor result;
  if (!reference || failed(reference.evaluate(*input.constant, result)))
    return nullptr;
  return std::make_shared<const ReferenceTensor>(std::move(result));
}

/// The elements of the first operand, each maybe several times or not at all.
template <typename OpT> static void deriveMove(OpT op, RangeArguments &arguments) {
  Bound result = arguments.in(0);
  result.constant = evaluate(op, arguments.in(0));
  arguments.setExact(0, std::move(result));
}

/// Like deriveMove, with a constant that does not stay one.
template <typename OpT> static void derivePass(OpT, RangeArguments &arguments) {
  Bound result = arguments.in(0);
  result.constant = nullptr;
  arguments.setExact(0, std::move(result));
}

static void deriveConcatenate(ConcatenateOp, RangeArguments &arguments) {
  Bound result = arguments.in(0);
  for (const Bound &input : arguments.all())
    result = hull(result, input);
  result.constant = nullptr;
  arguments.setExact(0, std::move(result));
}

static void derivePad(PadOp op, RangeArguments &arguments) {
  const Type type = arguments.typeOf(0);
  double value = op.getValue().convertToDouble();
  if (isa<FloatType>(type))
    value = roundTo(type, value);
  const bool adds = op.getLow() > 0 || op.getHigh() > 0;
  arguments.setExact(0, adds ? hull(arguments.in(0), Bound::of(value, value)) : arguments.in(0));
}

/// An index outside the table gives NaN, or the integer 0.
static void deriveGather(GatherOp op, RangeArguments &arguments) {
  const Bound &table = arguments.in(0), &indices = arguments.in(1);
  Bound result = hull(table, table);
  const int64_t extent = tensorTypeOf(op.getTable()).getDimSize(op.getAxis());
  if (ShapedType::isDynamic(extent) || indices.low < -double(extent) ||
      indices.high >= double(extent)) {
    if (isa<FloatType>(arguments.typeOf(0)))
      result.mayBeNan = true;
    else
      result = hull(result, Bound::of(0, 0));
  }
  if (indices.error > 0)
    result.error += result.high - result.low;
  arguments.setExact(0, std::move(result));
}

static void deriveOneHot(OneHotOp, RangeArguments &arguments) {
  arguments.setExact(0, Bound::of(0, 1, arguments.in(0).error == 0 ? 0 : 1));
}

static void deriveArgMax(ArgMaxOp op, RangeArguments &arguments) {
  const int64_t extent = tensorTypeOf(op.getInput()).getDimSize(op.getAxis());
  if (ShapedType::isDynamic(extent))
    return arguments.setExact(0, Bound::anyOf(arguments.typeOf(0)));
  const double last = double(extent - 1);
  arguments.setExact(0, Bound::of(0, last, arguments.in(0).error == 0 ? 0 : last));
}

/// Floating to integer truncates; what no integer holds, and NaN, may become any.
static Bound truncated(const Bound &input, Type to) {
  const Bound all = Bound::anyOf(to);
  const double low = std::trunc(input.low), high = std::trunc(input.high);
  if (input.mayBeNan || low < all.low || high > all.high)
    return all;
  return Bound::of(low, high, input.error == 0 ? 0 : input.error + 1);
}

static void deriveCast(CastOp op, RangeArguments &arguments) {
  const Bound &input = arguments.in(0);
  const Type from = elementTypeOf(op.getInput()), to = elementTypeOf(op.getResult());
  if (to.isInteger(1))
    return arguments.setExact(0, Bound::of(0, 1, input.error == 0 ? 0 : 1));
  if (isa<FloatType>(from) && isa<IntegerType>(to))
    return arguments.setExact(0, truncated(input, to));
  if (isa<IntegerType>(from) && isa<IntegerType>(to)) {
    const Bound all = Bound::anyOf(to);
    const bool fits = input.low >= all.low && input.high <= all.high;
    return arguments.setExact(0, fits ? hull(input, input) : all);
  }
  const bool isWidening =
      isa<FloatType>(from) && from.getIntOrFloatBitWidth() < 32 && to.getIntOrFloatBitWidth() >= 32;
  Bound result = isWidening ? input : rounded(input, to);
  result.constant = nullptr;
  // float8 is no type that values are kept in; nothing casts from it.
  if (to.getIntOrFloatBitWidth() < 16)
    return arguments.setExact(0, Bound::anyOf(to));
  if (auto elements = isa<FloatType>(from) ? evaluate(op, input) : nullptr) {
    double error = 0;
    for (int64_t i = 0, count = elements->size(); i < count; ++i)
      error = std::max(error, std::abs(elements->at(i) - input.constant->at(i)));
    result = Bound::ofElements(elements);
    result.error = std::isnan(error) ? kUnbounded : input.error + error;
  }
  arguments.setExact(0, std::move(result));
}

/// Repeats, crops and shifts of single elements, or weighted sums of few.
static void deriveResample(ResampleOp op, RangeArguments &arguments) {
  const Bound &input = arguments.in(0);
  if (op.isSelection())
    return arguments.setExact(0, hull(input, Bound::of(0, 0)));
  // The sums of magnitudes of weights along the axes multiply.
  double weight = 1, terms = 1;
  bool isPositive = true;
  for (const ResampleTable &table : op.getTables()) {
    double most = 0;
    const int64_t taps = table.taps;
    for (size_t start = 0; start < table.indices.size(); start += size_t(taps)) {
      double sum = 0;
      for (int64_t t = 0; t < taps; ++t)
        if (table.indices[start + size_t(t)] >= 0) {
          const double each = table.weights.empty() ? 1 : table.weights[start + size_t(t)];
          isPositive &= each >= 0;
          sum += std::abs(each);
        }
      most = std::max(most, sum);
    }
    weight *= most * (1 + 0x1p-40);
    terms *= double(taps);
  }
  // Kernels hold the products of weights in the accumulator.
  const double slack = sumSlack(arguments.typeOf(0), 4 * terms);
  const double most = input.magnitude() * weight;
  Bound result = {-most, most, input.mayBeNan || std::isinf(most), 0, nullptr};
  if (isPositive)
    result = {std::min(input.low, 0.0) * weight, std::max(input.high, 0.0) * weight,
              result.mayBeNan, 0, nullptr};
  result.low -= most * slack;
  result.high += most * slack;
  result.error = input.error * weight + most * slack;
  result.widen();
  arguments.setRounded(0, result);
}

void mpc::attachMovementRanges(MLIRContext &context) {
  attachRange<ReshapeOp, deriveMove<ReshapeOp>>(context);
  attachRange<TransposeOp, deriveMove<TransposeOp>>(context);
  attachRange<SliceOp, deriveMove<SliceOp>>(context);
  attachRange<ReverseOp, deriveMove<ReverseOp>>(context);
  attachRange<BroadcastLikeOp, derivePass<BroadcastLikeOp>, FormKind::Same>(context);
  attachRange<StopGradientOp, deriveMove<StopGradientOp>, FormKind::Same>(context);
  attachRange<StraightThroughOp, derivePass<StraightThroughOp>>(context);
  attachRange<VariableGradientOp, derivePass<VariableGradientOp>>(context);
  attachRange<ConcatenateOp, deriveConcatenate>(context);
  attachRange<PadOp, derivePad>(context);
  attachRange<GatherOp, deriveGather>(context);
  attachRange<OneHotOp, deriveOneHot>(context);
  attachRange<ArgMaxOp, deriveArgMax>(context);
  attachRange<CastOp, deriveCast, FormKind::Same>(context);
  attachRange<ResampleOp, deriveResample>(context);
}
