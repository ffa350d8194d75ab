// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Statistics along axes that are composed of sums, sorts and selections: weighted averages, ranges,
// quantiles, reductions that leave NaN out, integrals.
#include "lib/Import/Keras/Operations/OperationBuilder.h"

#include <cmath>
#include <limits>

namespace mpc::keras {
namespace {

using mlir::Value;
using B = OperationBuilder;

Value isNumber(B &b, Value x) { return b.makeCompare(ComparePredicate::EQ, x, x); }

/// The values where `condition`, else the number.
Value keepWhere(B &b, Value condition, Value x, double otherwise) {
  return b.makeSelect(condition, x, b.makeCastLike(b.makeConstant(otherwise), x));
}

/// x and its axes; none after an error.
struct Reduced {
  Value x;
  llvm::SmallVector<int64_t> axes;
  bool keepDims;

  /// `keepsIntegers`: as they are, where others become float32.
  static std::optional<Reduced> read(B &b, bool acrossSamples, bool keepsIntegers = false) {
    Value given = b.getValue(0, "x");
    if (!given)
      return std::nullopt;
    const bool isNumber = !elementTypeOf(given).isInteger(1);
    Value x = keepsIntegers && isNumber ? given : b.getFloat(0, "x");
    std::optional<llvm::SmallVector<int64_t>> axes =
        x ? b.getAxes(kKeywordOnly, "axis", x, acrossSamples) : std::nullopt;
    if (!axes)
      return std::nullopt;
    return Reduced{x, *axes, b.getFlag(kKeywordOnly, "keepdims", false)};
  }
  bool isFloat() const { return mlir::isa<mlir::FloatType>(elementTypeOf(x)); }
  Value reduce(B &b, ReduceKind kind, Value value) const {
    return b.makeReduce(kind, value, axes, keepDims);
  }
};

/// sum(x w) / sum(w); weights of one dimension lie along the axis.
Value average(B &b) {
  std::optional<Reduced> r = Reduced::read(b, /*acrossSamples=*/true);
  if (!r)
    return {};
  if (!b.findArgument(1, "weights"))
    return r->reduce(b, ReduceKind::Mean, r->x);
  Value weights = b.getFloat(1, "weights");
  if (!weights)
    return {};
  if (b.rankOf(weights) != b.rankOf(r->x)) {
    if (r->axes.size() != 1 || b.rankOf(weights) != 1)
      return b.error("'Average' needs weights of the tensor's rank, or along one axis");
    llvm::SmallVector<int64_t> shape(b.rankOf(r->x), 1);
    shape[r->axes.front()] = b.shapeOf(weights).front();
    weights = b.makeReshape(weights, shape);
  }
  if (failed(broadcastShapes({b.shapeOf(r->x), b.shapeOf(weights)})))
    return b.error("the weights of 'Average' do not fit the tensor");
  Value all = b.make<BroadcastLikeOp>(b.makeCastLike(weights, r->x), r->x);
  return b.make<DivideOp>(r->reduce(b, ReduceKind::Sum, b.make<MultiplyOp>(r->x, all)),
                          r->reduce(b, ReduceKind::Sum, all));
}

Value countNonzero(B &b) {
  Value x = b.getValue(0, "x");
  std::optional<llvm::SmallVector<int64_t>> axes =
      x ? b.getAxes(kKeywordOnly, "axis", x, /*acrossSamples=*/true) : std::nullopt;
  if (!axes)
    return {};
  const mlir::Type i32 = b.builder.getI32Type();
  Value there = b.make<CastOp>(mlir::RankedTensorType::get(b.shapeOf(x), i32), b.makeBool(x));
  return b.makeReduce(ReduceKind::Sum, there, *axes, false);
}

Value range(B &b) {
  std::optional<Reduced> r = Reduced::read(b, /*acrossSamples=*/true, /*keepsIntegers=*/true);
  return r ? b.make<SubtractOp>(r->reduce(b, ReduceKind::Max, r->x),
                                r->reduce(b, ReduceKind::Min, r->x))
           : Value();
}

// ---- Without NaN --------------------------------------------------------------------------------

Value sumOfNumbers(B &b) {
  std::optional<Reduced> r = Reduced::read(b, /*acrossSamples=*/true, /*keepsIntegers=*/true);
  if (!r)
    return {};
  return r->reduce(b, ReduceKind::Sum,
                   r->isFloat() ? keepWhere(b, isNumber(b, r->x), r->x, 0.0)
                                : widenForSum(b, r->x));
}

/// The extremum of the numbers; NaN where there is none.
template <ReduceKind kind> Value extremumOfNumbers(B &b) {
  std::optional<Reduced> r = Reduced::read(b, /*acrossSamples=*/true, /*keepsIntegers=*/true);
  if (!r)
    return {};
  if (!r->isFloat())
    return r->reduce(b, kind, r->x);
  const double infinity = std::numeric_limits<double>::infinity();
  Value numbers = isNumber(b, r->x);
  Value y = r->reduce(b, kind,
                      keepWhere(b, numbers, r->x, kind == ReduceKind::Max ? -infinity : infinity));
  return keepWhere(b, r->reduce(b, ReduceKind::Any, numbers), y,
                   std::numeric_limits<double>::quiet_NaN());
}

/// Mean, or variance, or its root, of the numbers, in float32 or wider.
enum class Moment { Mean, Variance, Deviation };
template <Moment moment> Value momentOfNumbers(B &b) {
  std::optional<Reduced> r = Reduced::read(b, /*acrossSamples=*/true);
  if (!r)
    return {};
  Value wide = b.makeCastLike(r->x, r->x, /*wide=*/true), numbers = isNumber(b, wide);
  auto sum = [&](Value value, bool keep) {
    return b.makeReduce(ReduceKind::Sum, value, r->axes, keep);
  };
  Value ones = b.makeSelect(
      numbers, b.make<BroadcastLikeOp>(b.makeCastLike(b.makeConstant(1.0), wide), wide),
      b.makeCastLike(b.makeConstant(0.0), wide));
  const bool isMean = moment == Moment::Mean;
  Value mean = b.make<DivideOp>(sum(keepWhere(b, numbers, wide, 0.0), !isMean || r->keepDims),
                                sum(ones, !isMean || r->keepDims));
  if (isMean)
    return b.makeCastLike(mean, r->x);
  Value distance = keepWhere(b, numbers, b.make<SubtractOp>(wide, mean), 0.0);
  Value y = b.make<DivideOp>(sum(b.make<MultiplyOp>(distance, distance), r->keepDims),
                             sum(ones, r->keepDims));
  return b.makeCastLike(moment == Moment::Deviation ? b.make<SqrtOp>(y) : y, r->x);
}

// ---- Quantiles ----------------------------------------------------------------------------------

/// Where a quantile lies among sorted elements: at `first`, or between it and `second`, of which
/// `share` counts.
struct QuantilePlace {
  int64_t first = 0, second = 0;
  double share = 0.0;
};

/// keras/src/backend/tensorflow/numpy.py, _quantile; nothing for an unknown method.
std::optional<QuantilePlace> findQuantile(llvm::StringRef method, int64_t count, double q) {
  const double exact = double(count - 1) * q, last = double(count - 1);
  auto place = [&](double first, double second, double share) {
    return QuantilePlace{int64_t(std::clamp(first, 0.0, last)),
                         int64_t(std::clamp(second, 0.0, last)), share};
  };
  if (method == "lower")
    return place(std::floor(exact), 0, 0);
  if (method == "higher")
    return place(std::ceil(exact), 0, 0);
  if (method == "nearest")
    return place(std::nearbyint(exact), 0, 0);
  if (method == "midpoint")
    return place(std::floor(exact), std::ceil(exact), 0.5);
  if (method != "linear")
    return std::nullopt;
  const double smaller = std::max(std::ceil(exact) - 1.0, 0.0),
               larger = std::min(smaller + 1.0, last);
  return place(larger, smaller, larger - exact);
}

enum class NaNs { Spread, Skipped };

/// The value at place `q` (d - 1) of the d sorted elements. NaN where an element is, or of those
/// that are numbers, and NaN where there is none.
Value quantileOf(B &b, double q, llvm::StringRef method, NaNs nans) {
  if (nans == NaNs::Skipped && b.refuseFloat64(0, "x", "the shares of two elements are in float32"))
    return {};
  std::optional<Reduced> r = Reduced::read(b, /*acrossSamples=*/false);
  if (!r)
    return {};
  if (!(q >= 0.0 && q <= 1.0))
    return b.error("'" + b.layer.className + "' at a place outside of the tensor");
  // The axes as one, which comes last.
  const int64_t rank = b.rankOf(r->x);
  llvm::SmallVector<int64_t> order, shape;
  int64_t extent = 1;
  for (int64_t d = 0; d < rank; ++d)
    if (!llvm::is_contained(r->axes, d)) {
      order.push_back(d);
      shape.push_back(b.shapeOf(r->x)[d]);
    }
  for (int64_t axis : r->axes) {
    order.push_back(axis);
    extent *= b.shapeOf(r->x)[axis];
  }
  const llvm::SmallVector<int64_t> rest(shape);
  shape.push_back(extent);
  if (extent < 1)
    return b.error("'" + b.layer.className + "' of no elements");
  if (!findQuantile(method, extent, q))
    return b.error("'method' of '" + b.layer.className + "' is '" + method + "'");
  Value y = b.makeReshape(b.make<TransposeOp>(r->x, order), shape);
  const int64_t last = int64_t(rest.size());
  Value sorted = sortLastAxis(b, y);
  if (!sorted)
    return {};
  Value first, second, share, isThere;
  if (nans == NaNs::Spread) {
    const QuantilePlace place = *findQuantile(method, extent, q);
    auto at = [&](int64_t index) {
      return b.makeReshape(b.make<SliceOp>(sorted, last, index, int64_t(1)), rest);
    };
    first = at(place.first), second = at(place.second);
    share = b.makeCastLike(b.makeConstant(place.share), y);
    isThere = b.makeReduce(ReduceKind::All, isNumber(b, y), {last}, false);
  } else {
    // NaN is sorted behind the numbers, whose count says where to read.
    const mlir::Type i32 = b.builder.getI32Type();
    Value count = b.makeReduce(
        ReduceKind::Sum, b.make<CastOp>(mlir::RankedTensorType::get(shape, i32), isNumber(b, y)),
        {last}, false);
    llvm::SmallVector<int64_t> firsts, seconds;
    llvm::SmallVector<double> shares;
    for (int64_t numbers = 0; numbers <= extent; ++numbers) {
      const QuantilePlace place = *findQuantile(method, std::max<int64_t>(numbers, 1), q);
      firsts.push_back(place.first);
      seconds.push_back(place.second);
      shares.push_back(place.share);
    }
    auto lookUp = [&](Value table) {
      return b.make<GatherOp>(table, count, /*axis=*/0, /*batch_dims=*/0);
    };
    llvm::SmallVector<int64_t> single(rest);
    single.push_back(1);
    auto at = [&](llvm::ArrayRef<int64_t> places) {
      Value place = b.makeReshape(lookUp(b.makeIndices({extent + 1}, places)), single);
      return b.makeReshape(b.make<GatherOp>(sorted, place, last, last), rest);
    };
    first = at(firsts), second = at(seconds);
    share = lookUp(b.makeCastLike(b.makeConstant({extent + 1}, shares), y));
    isThere = b.makeCompare(ComparePredicate::GT, count, b.makeScalar(i32, 0));
  }
  Value result = first;
  if (method == "midpoint")
    result = b.make<MultiplyOp>(b.makeConstant(0.5), b.make<AddOp>(first, second));
  else if (method == "linear")
    result =
        b.make<AddOp>(b.make<MultiplyOp>(first, b.make<SubtractOp>(b.makeConstant(1.0), share)),
                      b.make<MultiplyOp>(second, share));
  result = keepWhere(b, isThere, result, std::numeric_limits<double>::quiet_NaN());
  return r->keepDims ? b.makeReshape(result, reducedShape(b.shapeOf(r->x), r->axes, true)) : result;
}

template <NaNs nans> Value median(B &b) { return quantileOf(b, 0.5, "linear", nans); }

/// Keras computes the place in float32 before it takes it for float64.
template <int hundred, NaNs nans> Value quantile(B &b) {
  const Argument *argument = b.findArgument(1, "q");
  std::optional<double> q = argument && argument->kind == Argument::Kind::Constant
                                ? argument->constant.getAsNumber()
                                : std::nullopt;
  if (!q)
    return b.error("'q' of '" + b.layer.className + "' must be one number");
  // Quantile.call of Keras 3.15 does not hand its method on.
  const bool hasMethod = hundred != 1 || nans == NaNs::Skipped;
  const std::string method = b.getString(kKeywordOnly, "method", "linear");
  return quantileOf(b, double(float(*q) / float(hundred)), hasMethod ? method : "linear", nans);
}

// ---- Along one axis -----------------------------------------------------------------------------

/// The trapezoidal rule with one distance.
Value trapezoid(B &b) {
  Value y = b.getFloat(0, "y");
  if (!y)
    return {};
  if (b.findArgument(kKeywordOnly, "x"))
    return b.error("'Trapezoid' with places 'x' is not supported; give it a distance 'dx'");
  std::optional<int64_t> axis = b.getAxis(kKeywordOnly, "axis", -1, y);
  if (!axis)
    return {};
  const int64_t rest = b.shapeOf(y)[*axis] - 1;
  if (rest < 1)
    return b.error("'Trapezoid' needs two elements");
  Value pairs = b.make<AddOp>(b.make<SliceOp>(y, *axis, int64_t(1), rest),
                              b.make<SliceOp>(y, *axis, int64_t(0), rest));
  const double distance = b.getNumber(kKeywordOnly, "dx").value_or(1.0);
  return b.make<MultiplyOp>(b.makeReduce(ReduceKind::Sum, pairs, {*axis}, false),
                            b.makeConstant(distance * 0.5));
}

/// How many of the boundaries an element has reached: `sorted` is one-dimensional and constant in
/// number.
Value countReached(B &b, Value x, Value sorted, bool alsoEqual) {
  if (b.rankOf(sorted) != 1 || tensorTypeOf(sorted).getNumDynamicDims())
    return b.error("'" + b.layer.className + "' needs boundaries of one dimension, not the batch");
  llvm::SmallVector<int64_t> shape(b.shapeOf(x));
  shape.push_back(1);
  Operand operands[2] = {{b.makeReshape(x, shape)}, {sorted}};
  if (!b.promote(operands))
    return {};
  Value reached = b.makeCompare(alsoEqual ? ComparePredicate::GE : ComparePredicate::GT,
                                operands[0].value, operands[1].value);
  const mlir::Type i32 = b.builder.getI32Type();
  Value counted = b.make<CastOp>(mlir::RankedTensorType::get(b.shapeOf(reached), i32), reached);
  return b.makeReduce(ReduceKind::Sum, counted, {b.rankOf(counted) - 1}, false);
}

Value digitize(B &b) {
  Value x = b.getValue(0, "x"), bins = b.getValue(1, "bins");
  return x && bins ? countReached(b, x, bins, /*alsoEqual=*/true) : Value();
}

Value searchSorted(B &b) {
  Value sorted = b.getValue(0, "sorted_sequence"), x = b.getValue(1, "values");
  return x && sorted
             ? countReached(b, x, sorted, b.getString(kKeywordOnly, "side", "left") == "right")
             : Value();
}

constexpr OperationEntry kStatisticOperations[] = {
    {"Average", average},
    {"CountNonzero", countNonzero},
    {"Digitize", digitize},
    {"Median", median<NaNs::Spread>},
    {"Nanmax", extremumOfNumbers<ReduceKind::Max>},
    {"Nanmean", momentOfNumbers<Moment::Mean>},
    {"Nanmin", extremumOfNumbers<ReduceKind::Min>},
    {"Nanstd", momentOfNumbers<Moment::Deviation>},
    {"Nansum", sumOfNumbers},
    {"Nanvar", momentOfNumbers<Moment::Variance>},
    {"Nanmedian", median<NaNs::Skipped>},
    {"Nanpercentile", quantile<100, NaNs::Skipped>},
    {"Nanquantile", quantile<1, NaNs::Skipped>},
    {"Percentile", quantile<100, NaNs::Spread>},
    {"Ptp", range},
    {"Quantile", quantile<1, NaNs::Spread>},
    {"SearchSorted", searchSorted},
    {"Trapezoid", trapezoid},
};

} // namespace

llvm::ArrayRef<OperationEntry> statisticOperations() { return kStatisticOperations; }

} // namespace mpc::keras
