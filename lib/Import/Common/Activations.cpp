// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where two operands tie, the operand order of minimum and maximum decides who gets the gradient:
// as in TensorFlow's kernels.
#include "lib/Import/Common/Activations.h"

#include "dialects/mpc/IR/Gelu.h"

namespace mpc {

using mlir::Value;

Value applyRelu6(ValueBuilder &b, Value x) {
  return b.make<MinimumOp>(b.makeConstant(6.0), b.make<ReluOp>(x));
}

Value applyExpMinusOne(ValueBuilder &b, Value x) {
  Value negative = b.make<MinimumOp>(x, b.makeConstant(0.0));
  return b.make<SubtractOp>(b.make<ExpOp>(negative), b.makeConstant(1.0));
}

/// max(x, 0) + alpha expm1(min(x, 0) / alpha)
Value applyCelu(ValueBuilder &b, Value x, double alpha) {
  Value zero = b.makeConstant(0.0), low = b.make<MinimumOp>(x, zero);
  if (alpha != 1.0)
    low = b.make<DivideOp>(low, b.makeConstant(alpha));
  Value bent = b.make<Expm1Op>(low);
  if (alpha != 1.0)
    bent = b.make<MultiplyOp>(b.makeConstant(alpha), bent);
  return b.make<AddOp>(b.make<MaximumOp>(x, zero), bent);
}

/// 0.5 x (1 + erf(x / sqrt 2)), or 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))). The square is
/// bounded where tanh has long been 1: beyond 256 it is infinite in float16, and times a derivative
/// of 0 not a number.
Value applyGelu(ValueBuilder &b, Value x, bool approximate) {
  Value bent;
  if (approximate) {
    Value square = b.make<MinimumOp>(b.make<MultiplyOp>(x, x), b.makeConstant(kGeluSquareBound));
    Value cube = b.make<MultiplyOp>(square, x);
    Value sum = b.make<AddOp>(x, b.make<MultiplyOp>(b.makeConstant(kGeluCube), cube));
    bent = b.make<TanhOp>(b.make<MultiplyOp>(b.makeConstant(kGeluScale), sum));
  } else {
    bent = b.make<ErfOp>(b.make<DivideOp>(x, b.makeConstant(1.4142135623730951)));
  }
  Value sum = b.make<AddOp>(b.makeConstant(1.0), bent);
  return b.make<MultiplyOp>(b.make<MultiplyOp>(b.makeConstant(0.5), x), sum);
}

Value applyHardShrink(ValueBuilder &b, Value x, double threshold) {
  Value outside = b.makeCompare(ComparePredicate::GT, b.make<AbsOp>(x), b.makeConstant(threshold));
  return b.makeSelect(outside, x, b.makeConstant(0.0));
}

Value applySoftShrink(ValueBuilder &b, Value x, double threshold) {
  Value above = b.makeCompare(ComparePredicate::GT, x, b.makeConstant(threshold));
  Value below = b.makeCompare(ComparePredicate::LT, x, b.makeConstant(-threshold));
  Value rest =
      b.makeSelect(below, b.make<AddOp>(x, b.makeConstant(threshold)), b.makeConstant(0.0));
  return b.makeSelect(above, b.make<SubtractOp>(x, b.makeConstant(threshold)), rest);
}

/// (x + sqrt(x^2 + b)) / 2, in float32 or wider.
Value applySquareplus(ValueBuilder &b, Value x, double shift) {
  Value wide = b.makeCastLike(x, x, /*wide=*/true);
  Value sum = b.make<AddOp>(b.make<MultiplyOp>(wide, wide), b.makeConstant(shift));
  return b.makeCastLike(
      b.make<DivideOp>(b.make<AddOp>(wide, b.make<SqrtOp>(sum)), b.makeConstant(2.0)), x);
}

/// first half * sigmoid(second half)
Value applyGlu(ValueBuilder &b, Value x, int64_t axis) {
  const int64_t extent = b.shapeOf(x)[axis];
  if (extent % 2 != 0)
    return b.error("activation 'glu' splits an axis in halves, but it has " + llvm::Twine(extent) +
                   " elements; give the layer an even number of units");
  Value first = b.make<SliceOp>(x, axis, 0, extent / 2);
  Value second = b.make<SliceOp>(x, axis, extent / 2, extent / 2);
  return b.make<MultiplyOp>(first, b.make<SigmoidOp>(second));
}

/// Sparsemax as Keras computes it: with z sorted in descending order, support = z - (cumsum(z) - 1)
/// / rank > 0 and tau = (sum of the supported cumsums - 1) / count. The sum of cumsums (not the
/// last one) is Keras's; results equal Keras's, not the paper's. There is no sort op: cumsum and
/// rank of each element are sums over the elements that a stable descending sort puts at or before
/// it, in float32 or wider: tau is a small difference of large sums.
Value applySparsemax(ValueBuilder &b, Value x, int64_t axis) {
  if (axis != b.rankOf(x) - 1)
    return b.error("'sparsemax' along another axis than the last is not supported");
  llvm::SmallVector<int64_t> rows(b.shapeOf(x)), columns(rows);
  const int64_t extent = rows.back();
  const int64_t limit = 1024; // extent^2 values per sample
  if (extent > limit)
    return b.error("activation 'sparsemax' over " + llvm::Twine(extent) + " elements; at most " +
                   llvm::Twine(limit) + " are supported");
  rows.push_back(1);
  columns.insert(columns.end() - 1, 1);
  llvm::SmallVector<bool> notAfter;
  for (int64_t row = 0; row < extent; ++row)
    for (int64_t column = 0; column < extent; ++column)
      notAfter.push_back(column <= row);
  auto maskType = mlir::RankedTensorType::get({extent, extent}, b.builder.getI1Type());
  Value stable = b.make<ConstantOp>(
      llvm::cast<mlir::ElementsAttr>(mlir::DenseElementsAttr::get(maskType, notAfter)));

  Value narrow = x;
  x = b.makeCastLike(x, x, /*wide=*/true);
  Value self = b.makeReshape(x, rows), other = b.makeReshape(x, columns);
  Value zero = b.makeConstant(0.0), one = b.makeConstant(1.0);
  Value greater = b.makeCompare(ComparePredicate::GT, other, self);
  Value tied = b.make<LogicalAndOp>(b.makeCompare(ComparePredicate::EQ, other, self), stable);
  auto sumWhere = [&](Value value) {
    Value kept = b.makeSelect(greater, value, b.makeSelect(tied, value, zero));
    return b.make<ReduceOp>(ReduceKind::Sum, kept, llvm::ArrayRef<int64_t>{axis + 1}, false);
  };
  Value cumulative = sumWhere(other), rank = sumWhere(one);
  Value bound = b.make<DivideOp>(b.make<SubtractOp>(cumulative, one), rank);
  Value support = b.makeCompare(ComparePredicate::GT, b.make<SubtractOp>(x, bound), zero);
  auto sumSupported = [&](Value value) {
    return b.make<ReduceOp>(ReduceKind::Sum, b.makeSelect(support, value, zero),
                            llvm::ArrayRef<int64_t>{axis}, true);
  };
  Value total = b.make<SubtractOp>(sumSupported(cumulative), one);
  Value tau = b.make<DivideOp>(total, sumSupported(one));
  return b.makeCastLike(b.make<MaximumOp>(b.make<SubtractOp>(x, tau), zero), narrow);
}

Value applyLeakyRelu(ValueBuilder &b, Value x, double negativeSlope) {
  Value positive = b.makeCompare(ComparePredicate::GT, x, b.makeConstant(0.0));
  return b.makeSelect(positive, x, b.make<MultiplyOp>(x, b.makeConstant(negativeSlope)));
}

Value applyElu(ValueBuilder &b, Value x, double alpha) {
  Value zero = b.makeConstant(0.0);
  Value result =
      b.makeSelect(b.makeCompare(ComparePredicate::LT, x, zero), applyExpMinusOne(b, x), x);
  if (alpha == 1.0)
    return result;
  return b.makeSelect(b.makeCompare(ComparePredicate::GT, x, zero), result,
                      b.make<MultiplyOp>(b.makeConstant(alpha), result));
}

Value applyRelu(ValueBuilder &b, Value x, double negativeSlope, std::optional<double> maxValue,
                double threshold) {
  Value negative;
  if (negativeSlope != 0.0) {
    if (!maxValue && threshold == 0.0)
      return applyLeakyRelu(b, x, negativeSlope);
    Value mirrored = b.make<NegateOp>(x);
    if (threshold != 0.0)
      mirrored = b.make<AddOp>(mirrored, b.makeConstant(threshold));
    negative = b.make<ReluOp>(mirrored);
  }
  bool clip = maxValue.has_value();
  if (threshold != 0.0) {
    Value above = b.makeCompare(ComparePredicate::GT, x, b.makeConstant(threshold));
    x = b.makeSelect(above, x, b.makeConstant(0.0));
  } else if (maxValue == 6.0) {
    x = applyRelu6(b, x);
    clip = false;
  } else {
    x = b.make<ReluOp>(x);
  }
  if (clip)
    x = b.make<MaximumOp>(b.make<MinimumOp>(x, b.makeConstant(*maxValue)), b.makeConstant(0.0));
  if (negative)
    x = b.make<SubtractOp>(x, b.make<MultiplyOp>(b.makeConstant(negativeSlope), negative));
  return x;
}

} // namespace mpc
