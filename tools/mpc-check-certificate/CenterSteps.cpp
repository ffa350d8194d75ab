// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The checker's derivations of how far elements lie from their mean, their largest and their
// smallest element, and beside the root of their mean square.
#include "tools/mpc-check-certificate/Sharing.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::check;

namespace {

Real elementsOf(Value tensor, ArrayRef<int64_t> axes) {
  Real count = 1;
  for (int64_t axis : axes)
    count *= tensorTypeOf(tensor).isDynamicDim(axis) ? kInfinite
                                                     : Real(tensorTypeOf(tensor).getDimSize(axis));
  return count;
}

/// The relative rounding of a number that is stored, twice: kernels may store a wider one first.
Real unitOf(Type type) { return 2 * halfUnit(type, 1); }
Real leastOf(Type type) { return std::ldexp(Real(1), -126) + halfUnit(type, 0); }

/// A mean of `count` elements of this size in any order of additions, stored.
Real offMean(Real size, Real count, Type type) {
  return size * slackOfSums(type, count + 2) + std::ldexp(Real(1), -126) + roundingOf(type, size);
}

/// Whether each of the results is beside its own elements wherever an op broadcasts it.
template <typename OpT> bool isBesideInput(OpT op) {
  bool leads = true;
  for (size_t d = 0; d < op.getAxes().size(); ++d)
    leads &= op.getAxes()[d] == int64_t(d);
  return leads || op.getKeepDims();
}

bool isSpread(Value value) { return isa_and_nonnull<ReduceOp, MomentsOp>(value.getDefiningOp()); }

} // namespace

void Sharing::settleCenter(Value value) {
  auto reduce = value.getDefiningOp<ReduceOp>();
  auto moments = value.getDefiningOp<MomentsOp>();
  Value input;
  ArrayRef<int64_t> axes;
  ReduceKind kind = ReduceKind::Mean;
  if (reduce && isBesideInput(reduce)) {
    input = reduce.getInput();
    axes = reduce.getAxes();
    kind = reduce.getKind();
  } else if (moments && isBesideInput(moments) && value == moments.getMean()) {
    input = moments.getInput();
    axes = moments.getAxes();
  }
  if (!input || !isKnown(input))
    return;
  const Fact &fact = facts[input];
  const Real span = fact.high - fact.low, count = elementsOf(input, axes);
  Interval excess;
  if (kind == ReduceKind::Max) {
    excess.low = -span;
  } else if (kind == ReduceKind::Min) {
    excess.high = span;
  } else if (kind == ReduceKind::Mean) {
    // An element is one part in `count` of its own mean.
    excess.high = span - span / count + offMean(fact.size(), count, elementTypeOf(value));
    excess.low = -excess.high;
  } else {
    return;
  }
  if (!std::isfinite(double(excess.size())))
    return;
  inputs[nameOf(value)] = nameOf(input);
  intervals[nameOf(value, Excess)] = excess;
}

/// With S the mean (or sum) of n squares, each square is at most n S (or S); of deviations from the
/// mean at most (n - 1) S. What `root` gives is at most 1 / sqrt(S), both but for roundings.
void Sharing::settleRoot(RsqrtOp root) {
  Value spread = asRun(root.getInput());
  if (auto sum = spread.getDefiningOp<AddOp>()) {
    const Value left = asRun(sum.getLhs()), right = asRun(sum.getRhs());
    auto isPositive = [&](Value value) { return isKnown(value) && facts.lookup(value).low >= 0; };
    if (isSpread(left) && isPositive(sum.getRhs()))
      spread = left;
    else if (isSpread(right) && isPositive(sum.getLhs()))
      spread = right;
  } else if (auto larger = spread.getDefiningOp<MaximumOp>()) {
    const Value left = asRun(larger.getLhs());
    spread = isSpread(left) ? left : asRun(larger.getRhs());
  }
  if (!isSpread(spread) || !isKnown(spread))
    return;
  const Type type = elementTypeOf(spread);
  Name name;
  Real parts, slack, off = 0, lost = std::ldexp(Real(1), -126) + leastOf(type);
  if (auto moments = spread.getDefiningOp<MomentsOp>()) {
    const Real count = elementsOf(moments.getInput(), moments.getAxes());
    if (spread != moments.getVariance() || !inputs.count(nameOf(moments.getMean())))
      return;
    name = nameOf(moments.getMean(), Excess);
    parts = count - 1;
    slack = slackOfSums(type, count + 4) + unitOf(type);
    off = offMean(facts[moments.getInput()].size(), count, elementTypeOf(moments.getMean()));
  } else {
    auto reduce = spread.getDefiningOp<ReduceOp>();
    auto square = reduce.getInput().getDefiningOp<MultiplyOp>();
    const bool isMean = reduce.getKind() == ReduceKind::Mean,
               isSum = reduce.getKind() == ReduceKind::Sum;
    if (!isBesideInput(reduce) || (!isMean && !isSum) || !square ||
        square.getLhs() != square.getRhs() || !isKnown(square.getLhs()))
      return;
    const Type squareType = elementTypeOf(square.getResult());
    const Real count = elementsOf(reduce.getInput(), reduce.getAxes());
    name = nameOf(square.getLhs());
    parts = isMean ? count : Real(1);
    slack = slackOfSums(type, count + 4) + unitOf(type) + unitOf(squareType);
    lost += (isMean ? Real(1) : count) * (std::ldexp(Real(1), -126) + leastOf(squareType));
  }
  if (!(slack < 0.5))
    return;
  const Type rootType = elementTypeOf(root.getResult());
  const Real largest = facts[root.getResult()].high;
  const Real reach = std::sqrt(parts / (1 - slack));
  const Real grown = (1 + slackOfFunctions(rootType)) * (1 + unitOf(rootType));
  const Real most = reach * (grown + std::sqrt(facts[spread].high) * leastOf(rootType) +
                             std::sqrt(lost) * largest) +
                    off * largest;
  if (!std::isfinite(double(most)))
    return;
  const Name other = nameOf(root.getResult()), product = nameOf(root.getResult(), Product);
  products[{std::min(name, other), std::max(name, other)}] = product;
  intervals[product] = {-most, most};
}
