// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Relations of values to their mean, their largest and smallest element, and the root of their mean
// square.
#include "lib/Numerics/Ranges/AffineForms.h"

using namespace mlir;
using namespace mpc;

/// Elements along `axes`; infinite where the batch is among them.
static double countOf(RankedTensorType type, ArrayRef<int64_t> axes) {
  double count = 1;
  for (int64_t axis : axes)
    count *= type.isDynamicDim(axis) ? kUnbounded : double(type.getDimSize(axis));
  return count;
}

/// How far a mean of elements may be from the real one.
static double meanError(double magnitude, double count, Type type) {
  return magnitude * sumSlack(type, count + 2) + 0x1p-126 +
         halfUnit(type, magnitude) * (1 + 0x1p-10);
}

namespace {
/// A value of which each element stands beside those that it was made of.
struct Center {
  Value input;
  ReduceKind kind;
  double count;
};
} // namespace

/// Whether broadcasting puts each result beside the elements that it was made of: their dimensions
/// stay, or are the leading ones, which broadcasting adds.
template <typename OpT> static bool standsBesideInput(OpT op) {
  return op.getKeepDims() ||
         llvm::equal(op.getAxes(), llvm::seq<int64_t>(0, int64_t(op.getAxes().size())));
}

static std::optional<Center> centerOf(Value value) {
  auto reduce = value.getDefiningOp<ReduceOp>();
  if (reduce && standsBesideInput(reduce))
    return Center{reduce.getInput(), reduce.getKind(),
                  countOf(tensorTypeOf(reduce.getInput()), reduce.getAxes())};
  auto moments = value.getDefiningOp<MomentsOp>();
  if (moments && standsBesideInput(moments) && value == moments.getMean())
    return Center{moments.getInput(), ReduceKind::Mean,
                  countOf(tensorTypeOf(moments.getInput()), moments.getAxes())};
  return std::nullopt;
}

/// Bounds how much more an element is than the mean of all, than the largest or than the smallest.
void AffineForms::addCenter(Value value) {
  const std::optional<Center> center = centerOf(value);
  const Bound *input = center ? boundOf(center->input) : nullptr;
  if (!input)
    return;
  const double span = (input->high - input->low) * (1 + 0x1p-40);
  RealRange range;
  switch (center->kind) {
  case ReduceKind::Max:
    range = {-span, 0};
    break;
  case ReduceKind::Min:
    range = {0, span};
    break;
  case ReduceKind::Mean: {
    const double most = span * (1 - 1 / center->count) +
                        meanError(input->magnitude(), center->count, elementTypeOf(value));
    range = {-most * (1 + 0x1p-40), most * (1 + 0x1p-40)};
    break;
  }
  default:
    return;
  }
  if (!std::isfinite(range.magnitude()))
    return;
  centers[symbolOf(value)] = symbolOf(center->input);
  ranges[symbolOf(value, IsDeviation)] = range;
}

/// The mean or sum of squares that the root is of, or of more than it.
Value AffineForms::spreadOf(RsqrtOp root) const {
  auto spreadIn = [this](Value read) -> Value {
    const Value value = asRun(read);
    return value.getDefiningOp<MomentsOp>() || value.getDefiningOp<ReduceOp>() ? value : Value();
  };
  auto isPositive = [this](Value value) {
    const Bound *bound = boundOf(value);
    return bound && bound->low >= 0;
  };
  Value operand = root.getInput();
  if (auto sum = operand.getDefiningOp<AddOp>())
    for (auto [value, other] :
         {std::pair(sum.getLhs(), sum.getRhs()), std::pair(sum.getRhs(), sum.getLhs())})
      if (Value spread = spreadIn(value); spread && isPositive(other))
        return spread;
  if (auto larger = operand.getDefiningOp<MaximumOp>())
    for (Value value : {larger.getLhs(), larger.getRhs()})
      if (Value spread = spreadIn(value))
        return spread;
  return spreadIn(operand);
}

namespace {
/// How numbers lie within the root of `most` times the spread, of the kernels' arithmetic:
/// |x| <= sqrt(most (spread + tiny) / (1 - slack)) + off.
struct Spread {
  double most, slack, tiny, off = 0;
};
} // namespace

/// A relation of `x` (a deviation or a value) to `inverse`, which is at most 1 / sqrt(spread).
static double productOf(const Spread &spread, double largest, const Bound &inverse, Type type) {
  const double unit = 2 * halfUnit(type, 1);
  const double root = std::sqrt(spread.most / (1 - spread.slack));
  const double grow = (1 + functionSlack(type)) * (1 + unit);
  const double tiny = 0x1p-126 + halfUnit(type, 0);
  const double product =
      root * (grow + std::sqrt(largest) * tiny + std::sqrt(spread.tiny) * inverse.high) +
      spread.off * inverse.high;
  return product * (1 + 0x1p-40);
}

/// None of n numbers with a mean square v is beyond sqrt(n v), none of n deviations from their
/// mean with a variance v is beyond sqrt((n - 1) v).
void AffineForms::addInverseRoot(RsqrtOp root) {
  const Value value = spreadOf(root);
  const Bound *largest = value ? boundOf(value) : nullptr, *inverse = boundOf(root.getResult());
  if (!largest || !inverse)
    return;
  const Type type = elementTypeOf(value);
  Spread spread;
  spread.tiny = 0x1p-125 + halfUnit(type, 0);
  FormSymbol factor;
  auto slackOf = [&](double count) { return sumSlack(type, count + 4) + 2 * halfUnit(type, 1); };
  if (auto moments = value.getDefiningOp<MomentsOp>()) {
    const double count = countOf(tensorTypeOf(moments.getInput()), moments.getAxes());
    const Bound *input = boundOf(moments.getInput());
    if (value != moments.getVariance() || !centers.count(symbolOf(moments.getMean())))
      return;
    factor = symbolOf(moments.getMean(), IsDeviation);
    spread.most = count - 1;
    spread.slack = slackOf(count);
    spread.off = meanError(input->magnitude(), count, elementTypeOf(moments.getMean()));
  } else {
    auto reduce = value.getDefiningOp<ReduceOp>();
    auto square = reduce.getInput().getDefiningOp<MultiplyOp>();
    const double count = countOf(tensorTypeOf(reduce.getInput()), reduce.getAxes());
    const bool isMean = reduce.getKind() == ReduceKind::Mean;
    if (!standsBesideInput(reduce) || !(isMean || reduce.getKind() == ReduceKind::Sum) || !square ||
        square.getLhs() != square.getRhs() || !boundOf(square.getLhs()))
      return;
    const Type squareType = elementTypeOf(square.getResult());
    factor = symbolOf(square.getLhs());
    spread.most = isMean ? count : 1;
    spread.slack = slackOf(count) + 2 * halfUnit(squareType, 1);
    spread.tiny += (isMean ? 1 : count) * (0x1p-125 + halfUnit(squareType, 0));
  }
  if (!(spread.slack < 0.5))
    return;
  const double most = productOf(spread, largest->high, *inverse, elementTypeOf(root.getResult()));
  const FormSymbol other = symbolOf(root.getResult()),
                   product = symbolOf(root.getResult(), IsProduct);
  if (!std::isfinite(most))
    return;
  products[std::minmax(factor, other)] = product;
  ranges[product] = {-most, most};
}
