// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Statistics along axes that are composed of sums, sorts and selections: weighted averages, ranges,
// quantiles, reductions that leave NaN out, integrals.
#include "OperationBuilder.h"

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

  static std::optional<Reduced> read(B &b, bool acrossSamples) {
    Value x = b.getFloat(0, "x");
    std::optional<llvm::SmallVector<int64_t>> axes =
        x ? b.getAxes(UINT_MAX, "axis", x, acrossSamples) : std::nullopt;
    if (!axes)
      return std::nullopt;
    return Reduced{x, *axes, b.getFlag(UINT_MAX, "keepdims", false)};
  }
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
      x ? b.getAxes(UINT_MAX, "axis", x, /*acrossSamples=*/true) : std::nullopt;
  if (!axes)
    return {};
  const mlir::Type i32 = b.builder.getI32Type();
  Value there = b.make<CastOp>(mlir::RankedTensorType::get(b.shapeOf(x), i32), b.makeBool(x));
  return b.makeReduce(ReduceKind::Sum, there, *axes, false);
}

Value range(B &b) {
  std::optional<Reduced> r = Reduced::read(b, /*acrossSamples=*/true);
  return r ? b.make<SubtractOp>(r->reduce(b, ReduceKind::Max, r->x),
                                r->reduce(b, ReduceKind::Min, r->x))
           : Value();
}

// ---- Without NaN --------------------------------------------------------------------------------

Value sumOfNumbers(B &b) {
  std::optional<Reduced> r = Reduced::read(b, /*acrossSamples=*/true);
  return r ? r->reduce(b, ReduceKind::Sum, keepWhere(b, isNumber(b, r->x), r->x, 0.0)) : Value();
}

/// The extremum of the numbers; NaN where there is none.
template <ReduceKind kind> Value extremumOfNumbers(B &b) {
  std::optional<Reduced> r = Reduced::read(b, /*acrossSamples=*/true);
  if (!r)
    return {};
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

/// The value at place `q` (d - 1) of the d sorted elements, as TensorFlow's backend of Keras
/// interpolates; NaN where an element is.
Value quantileOf(B &b, double q, llvm::StringRef method) {
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
  shape.push_back(extent);
  if (extent < 1)
    return b.error("'" + b.layer.className + "' of no elements");
  Value y = b.makeReshape(b.make<TransposeOp>(r->x, order), shape);
  const int64_t last = int64_t(shape.size()) - 1;
  Value sorted = sortLastAxis(b, y);
  if (!sorted)
    return {};
  auto at = [&](double place) {
    const auto index = std::clamp<int64_t>(int64_t(place), 0, extent - 1);
    return b.makeReduce(ReduceKind::Sum, b.make<SliceOp>(sorted, last, index, int64_t(1)), {last},
                        false);
  };
  const double exact = double(extent - 1) * q;
  Value result;
  if (method == "lower") {
    result = at(std::floor(exact));
  } else if (method == "higher") {
    result = at(std::ceil(exact));
  } else if (method == "nearest") {
    result = at(std::nearbyint(exact));
  } else if (method == "midpoint") {
    result = b.make<MultiplyOp>(b.makeConstant(0.5),
                                b.make<AddOp>(at(std::floor(exact)), at(std::ceil(exact))));
  } else if (method == "linear") {
    const double smaller = std::max(std::ceil(exact) - 1.0, 0.0);
    const double larger = std::min(smaller + 1.0, double(extent - 1));
    Value fraction = b.makeCastLike(b.makeConstant(larger - exact), y);
    Value rest = b.make<SubtractOp>(b.makeConstant(1.0), fraction);
    result = b.make<AddOp>(b.make<MultiplyOp>(at(larger), rest),
                           b.make<MultiplyOp>(at(smaller), fraction));
  } else {
    return b.error("'method' of '" + b.layer.className + "' is '" + method + "'");
  }
  Value whole = b.makeReduce(ReduceKind::All, isNumber(b, y), {last}, false);
  result = keepWhere(b, whole, result, std::numeric_limits<double>::quiet_NaN());
  return r->keepDims ? b.makeReshape(result, reducedShape(b.shapeOf(r->x), r->axes, true)) : result;
}

Value median(B &b) { return quantileOf(b, 0.5, "linear"); }

template <int hundred> Value quantile(B &b) {
  const Argument *argument = b.findArgument(1, "q");
  std::optional<double> q = argument && argument->kind == Argument::Kind::Constant
                                ? argument->constant.getAsNumber()
                                : std::nullopt;
  if (!q)
    return b.error("'q' of '" + b.layer.className + "' must be one number");
  // Quantile.call of Keras 3.15 does not hand its method on.
  return quantileOf(b, *q / hundred,
                    hundred == 1 ? "linear" : b.getString(UINT_MAX, "method", "linear"));
}

// ---- Along one axis -----------------------------------------------------------------------------

/// The trapezoidal rule with one distance.
Value trapezoid(B &b) {
  Value y = b.getFloat(0, "y");
  if (!y)
    return {};
  if (b.findArgument(UINT_MAX, "x"))
    return b.error("'Trapezoid' with places 'x' is not supported; give it a distance 'dx'");
  std::optional<int64_t> axis = b.getAxis(UINT_MAX, "axis", -1, b.rankOf(y));
  if (!axis)
    return {};
  const int64_t rest = b.shapeOf(y)[*axis] - 1;
  if (rest < 1)
    return b.error("'Trapezoid' needs two elements");
  Value pairs = b.make<AddOp>(b.make<SliceOp>(y, *axis, int64_t(1), rest),
                              b.make<SliceOp>(y, *axis, int64_t(0), rest));
  const double distance = b.getNumber(UINT_MAX, "dx").value_or(1.0);
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
  return x && sorted ? countReached(b, x, sorted, b.getString(UINT_MAX, "side", "left") == "right")
                     : Value();
}

constexpr OperationEntry kStatisticOperations[] = {
    {"Average", average},
    {"CountNonzero", countNonzero},
    {"Digitize", digitize},
    {"Median", median},
    {"Nanmax", extremumOfNumbers<ReduceKind::Max>},
    {"Nanmean", momentOfNumbers<Moment::Mean>},
    {"Nanmin", extremumOfNumbers<ReduceKind::Min>},
    {"Nanstd", momentOfNumbers<Moment::Deviation>},
    {"Nansum", sumOfNumbers},
    {"Nanvar", momentOfNumbers<Moment::Variance>},
    {"Percentile", quantile<100>},
    {"Ptp", range},
    {"Quantile", quantile<1>},
    {"SearchSorted", searchSorted},
    {"Trapezoid", trapezoid},
};

} // namespace

llvm::ArrayRef<OperationEntry> statisticOperations() { return kStatisticOperations; }

} // namespace mpc::keras
