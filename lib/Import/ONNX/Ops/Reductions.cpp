// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reductions over axes, in float32 or wider inside, and running sums.
#include "lib/Import/Common/PositionMasks.h"
#include "lib/Import/ONNX/NodeBuilder.h"
#include "lib/Import/ONNX/OpTable.h"
#include "lib/Import/ONNX/Ops/Arithmetic.h"
#include "lib/Import/ONNX/Ops/Axes.h"
#include "lib/Import/ONNX/Ops/Broadcasts.h"
#include "lib/Import/ONNX/Ops/LastAxis.h"

namespace mpc::onnx {
namespace {

using mlir::Value;
using B = NodeBuilder;

struct Reduction {
  Value x;
  llvm::SmallVector<int64_t> axes;
  bool keepDims = true;
};

/// The axes of a reduction to the shape that the file states, where only one set of as many axes
/// as the input holds gives it.
std::optional<llvm::SmallVector<int64_t>> deduceAxes(B &b, Value x, bool keepDims) {
  const llvm::SmallVector<int64_t> given = b.getShape(1);
  const int64_t rank = b.rankOf(x);
  auto stated = b.takeStatedShape(1, "the axes");
  if (!stated)
    return std::nullopt;
  std::optional<llvm::SmallVector<int64_t>> found;
  for (unsigned set = 0; rank <= 8 && given.size() == 1 && set < (1u << rank); ++set) {
    llvm::SmallVector<int64_t> axes;
    for (int64_t axis = 0; axis < rank; ++axis)
      if (set & (1u << axis))
        axes.push_back(axis);
    if (int64_t(axes.size()) != given.front() ||
        reducedShape(b.shapeOf(x), axes, keepDims) != *stated)
      continue;
    if (found) {
      b.error("the axes must be constant: several give the shape that the file states");
      return std::nullopt;
    }
    found = axes;
  }
  if (!found)
    b.error("the axes must be constant: none give the shape that the file states");
  return found;
}

/// The axes are an attribute before opset `since`, then an input. Nothing after an error, and where
/// the operation has no axes and so nothing to do (then the result is the input).
std::optional<Reduction> readReduction(B &b, int64_t since) {
  Reduction reduction;
  reduction.x = b.get(0);
  reduction.keepDims = b.attributes.getFlag("keepdims", true);
  if (!reduction.x)
    return std::nullopt;
  const int64_t rank = b.rankOf(reduction.x);
  llvm::SmallVector<int64_t> axes = b.attributes.getIntegers("axes");
  if (b.opset >= since && b.has(1)) {
    auto given = b.getLiteral(1) ? b.getIntegers(1, "the axes")
                                 : deduceAxes(b, reduction.x, reduction.keepDims);
    if (!given)
      return std::nullopt;
    axes = *given;
  }
  const bool isNoop = b.attributes.getFlag("noop_with_empty_axes");
  if (axes.empty()) {
    if (isNoop) {
      reduction.axes.clear();
      return reduction;
    }
    axes = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  }
  auto resolved = b.resolveAxes(axes, rank);
  if (!resolved)
    return std::nullopt;
  reduction.axes = *resolved;
  return reduction;
}

/// Sums that overflow the element type on the way are in float32 or wider, rounded once.
Value widen(B &b, Value x) { return b.makeCastLike(x, x, /*wide=*/true); }

Value sum(B &b, Value x, const Reduction &r) {
  return r.axes.empty() ? x : b.makeReduce(ReduceKind::Sum, x, r.axes, r.keepDims);
}

/// Floating tensors are reduced by `ofFloats`, integers by `ofIntegers`.
using FloatFn = Value (*)(B &, Value, const Reduction &);
template <FloatFn ofFloats, FloatFn ofIntegers = nullptr, int64_t since = 18> void reduce(B &b) {
  auto r = readReduction(b, since);
  if (!r)
    return;
  if (b.isFloat(r->x))
    b.setResult(0, ofFloats(b, r->x, *r));
  else if constexpr (ofIntegers != nullptr)
    b.setResult(0, ofIntegers(b, r->x, *r));
  else
    b.error("of integers is not supported; cast them first");
}

Value largest(B &b, Value x, const Reduction &r) {
  const bool isBool = elementTypeOf(x).isInteger(1);
  return r.axes.empty()
             ? x
             : b.makeReduce(isBool ? ReduceKind::Any : ReduceKind::Max, x, r.axes, r.keepDims);
}
Value smallest(B &b, Value x, const Reduction &r) {
  const bool isBool = elementTypeOf(x).isInteger(1);
  return r.axes.empty()
             ? x
             : b.makeReduce(isBool ? ReduceKind::All : ReduceKind::Min, x, r.axes, r.keepDims);
}

Value mean(B &b, Value x, const Reduction &r) {
  return r.axes.empty() ? x : b.makeReduce(ReduceKind::Mean, x, r.axes, r.keepDims);
}
/// Rounded towards zero.
Value meanOfIntegers(B &b, Value x, const Reduction &r) {
  int64_t count = 1;
  for (int64_t axis : r.axes) {
    if (mlir::ShapedType::isDynamic(b.shapeOf(x)[axis]))
      return b.errorOfOpenBatch("a mean of integers over the open batch is not supported");
    count *= b.shapeOf(x)[axis];
  }
  return divideTruncated(b, sum(b, x, r), b.makeInteger(elementTypeOf(x), count));
}

Value absolute(B &b, Value x) {
  if (b.isFloat(x))
    return b.make<AbsOp>(x);
  return elementTypeOf(x).isUnsignedInteger()
             ? x
             : b.make<MaximumOp>(x, b.make<SubtractOp>(b.makeZero(elementTypeOf(x)), x));
}

Value sumOfSizes(B &b, Value x, const Reduction &r) { return sum(b, absolute(b, x), r); }

Value sumOfSquares(B &b, Value x, const Reduction &r) {
  Value wide = b.isFloat(x) ? widen(b, x) : x;
  Value total = sum(b, b.make<MultiplyOp>(wide, wide), r);
  return b.isFloat(x) ? b.makeCastLike(total, x) : total;
}

Value norm(B &b, Value x, const Reduction &r) {
  Value wide = widen(b, x);
  return b.makeCastLike(b.make<SqrtOp>(sum(b, b.make<MultiplyOp>(wide, wide), r)), x);
}
/// Truncated, as a cast makes it.
Value normOfIntegers(B &b, Value x, const Reduction &r) {
  b.setComputeType(DataType::Double);
  Value wide = b.makeCastToFloat(x);
  Value root = b.make<SqrtOp>(sum(b, b.make<MultiplyOp>(wide, wide), r));
  return b.make<CastOp>(mlir::RankedTensorType::get(b.shapeOf(root), elementTypeOf(x)), root);
}

Value logarithm(B &b, Value x, const Reduction &r) {
  return b.makeCastLike(b.make<LogOp>(sum(b, widen(b, x), r)), x);
}

Value logOfExponentials(B &b, Value x, const Reduction &r) {
  if (r.axes.empty())
    return x;
  Value result = logSumExp(b.builder, b.location, widen(b, x), r.axes);
  return b.makeCastLike(
      r.keepDims ? result
                 : b.makeReshape(result, reducedShape(b.shapeOf(x), r.axes, /*keepDims=*/false)),
      x);
}

/// Halves are multiplied until one element is left.
Value product(B &b, Value x, const Reduction &r) {
  const bool isFloat = b.isFloat(x);
  Value y = isFloat ? widen(b, x) : x;
  // The product of nothing is 1.
  if (llvm::any_of(r.axes, [&](int64_t axis) { return b.shapeOf(x)[size_t(axis)] == 0; }))
    return broadcastTo(b, b.makeScalar(elementTypeOf(x), 1),
                       reducedShape(b.shapeOf(x), r.axes, r.keepDims));
  for (int64_t axis : r.axes) {
    if (mlir::ShapedType::isDynamic(b.shapeOf(y)[axis]))
      return b.errorOfOpenBatch("a product over the open batch is not supported");
    while (b.shapeOf(y)[axis] > 1) {
      const int64_t extent = b.shapeOf(y)[axis], half = extent / 2;
      Value first = b.make<SliceOp>(y, axis, 0, half),
            second = b.make<SliceOp>(y, axis, half, half);
      Value both = b.make<MultiplyOp>(first, second);
      if (extent % 2) {
        Value last = b.make<SliceOp>(y, axis, extent - 1, 1);
        Value head = b.make<MultiplyOp>(b.make<SliceOp>(both, axis, 0, 1), last);
        both = half == 1
                   ? head
                   : b.make<ConcatenateOp>(
                         mlir::ValueRange{head, b.make<SliceOp>(both, axis, 1, half - 1)}, axis);
      }
      y = both;
    }
  }
  y = b.makeReshape(y, reducedShape(b.shapeOf(x), r.axes, r.keepDims));
  return isFloat ? b.makeCastLike(y, x) : y;
}

// ---- Places -------------------------------------------------------------------------------------

/// The first, or with `select_last_index` the last, largest or smallest element along an axis.
template <bool smallest> void argument(B &b) {
  Value x = b.get(0);
  if (!x)
    return;
  std::optional<int64_t> axis = b.resolveAxis(b.attributes.getInteger("axis", 0), b.rankOf(x));
  if (!axis)
    return;
  const int64_t extent = b.shapeOf(x)[*axis];
  if (mlir::ShapedType::isDynamic(extent))
    return (void)b.errorOfOpenBatch("the axis is the open batch");
  const llvm::SmallVector<int64_t> kept =
      reducedShape(b.shapeOf(x), {*axis}, /*keepDims=*/b.attributes.getFlag("keepdims", true));
  if (!b.isFloat(x)) {
    // Those of 64 bits are more than a floating type tells apart; which are the largest is none.
    b.setComputeType(DataType::Float);
    Value best = b.makeReduce(smallest ? ReduceKind::Min : ReduceKind::Max, x, {*axis},
                              /*keepDims=*/true);
    x = b.makeCastToFloat(b.makeCompare(ComparePredicate::EQ, x, best));
  } else if (smallest) {
    x = b.make<NegateOp>(x);
  }
  const bool isLast = b.attributes.getFlag("select_last_index");
  Value place = b.make<ArgMaxOp>(isLast ? reverse(b, x, *axis) : x, *axis);
  if (isLast)
    place = b.make<SubtractOp>(b.makeInteger(b.builder.getI32Type(), extent - 1), place);
  place =
      b.make<CastOp>(mlir::RankedTensorType::get(b.shapeOf(place), b.builder.getI64Type()), place);
  b.setResult(0, b.makeReshape(place, kept));
}

/// Element i is the sum of those up to it: a product with a triangle of ones.
Value sumAlong(B &b, Value x, int64_t axis) {
  const int64_t rank = b.rankOf(x), extent = b.shapeOf(x)[axis];
  if (mlir::ShapedType::isDynamic(extent))
    return b.errorOfOpenBatch("the axis is the open batch");
  const bool isReverse = b.attributes.getFlag("reverse"),
             isExclusive = b.attributes.getFlag("exclusive");
  // Row i of the result sees column j of the input.
  const ComparePredicate sees = isReverse
                                    ? (isExclusive ? ComparePredicate::GT : ComparePredicate::GE)
                                    : (isExclusive ? ComparePredicate::LT : ComparePredicate::LE);
  Value mask = makeDiagonalMask(b, extent, extent, sees);
  llvm::SmallVector<int64_t> toLast, back(rank);
  for (int64_t d = 0; d < rank; ++d)
    if (d != axis)
      toLast.push_back(d);
  toLast.push_back(axis);
  for (const auto &[place, d] : llvm::enumerate(toLast))
    back[d] = int64_t(place);
  const bool moves = axis != rank - 1;
  Value last = moves ? b.make<TransposeOp>(x, toLast) : x;
  Value sums;
  if (b.isFloat(x)) {
    sums = b.make<ContractOp>(last, b.makeCastToFloat(mask), llvm::ArrayRef<int64_t>{rank - 1},
                              llvm::ArrayRef<int64_t>{1});
  } else {
    llvm::SmallVector<int64_t> row(b.shapeOf(last));
    row.insert(row.end() - 1, 1);
    Value kept = b.makeSelect(mask, b.makeReshape(last, row), b.makeZero(elementTypeOf(x)));
    sums = b.makeReduce(ReduceKind::Sum, kept, {rank}, /*keepDims=*/false);
  }
  return moves ? b.make<TransposeOp>(sums, back) : sums;
}

/// Element i is the product of those up to it: each step doubles how many factors it has.
Value multiplyAlong(B &b, Value x, int64_t axis) {
  const int64_t rank = b.rankOf(x), extent = b.shapeOf(x)[size_t(axis)];
  if (mlir::ShapedType::isDynamic(extent))
    return b.errorOfOpenBatch("the axis is the open batch");
  const bool isReverse = b.attributes.getFlag("reverse");
  const LastAxis last(axis, rank);
  Value y = last.move(b, b.isFloat(x) ? b.makeCastLike(x, x, /*wide=*/true) : x);
  const auto behindOnes = [&](Value factors, int64_t count) {
    llvm::SmallVector<int64_t> shape(b.shapeOf(factors));
    shape.back() = std::min(count, extent);
    Value ones = broadcastTo(b, b.makeScalar(elementTypeOf(factors), 1), shape);
    if (!ones || count >= extent)
      return ones;
    Value rest = b.make<SliceOp>(factors, rank - 1, int64_t(0), extent - count);
    return b.make<ConcatenateOp>(mlir::ValueRange{ones, rest}, rank - 1);
  };
  if (isReverse)
    y = reverse(b, y, rank - 1);
  if (b.attributes.getFlag("exclusive"))
    y = behindOnes(y, 1);
  for (int64_t count = 1; y && count < extent; count *= 2) {
    Value before = behindOnes(y, count);
    y = before ? b.make<MultiplyOp>(y, before) : Value();
  }
  if (!y)
    return {};
  y = last.restore(b, isReverse ? reverse(b, y, rank - 1) : y);
  return b.isFloat(x) ? b.makeCastLike(y, x) : y;
}

/// Along an axis that an input names; of one that is no constant all are computed.
template <Value (*along)(B &, Value, int64_t)> void cumulate(B &b) {
  Value x = b.get(0);
  if (!x || !b.has(1))
    return;
  const int64_t rank = b.rankOf(x);
  if (b.getLiteral(1)) {
    auto given = b.getIntegers(1, "the axis");
    if (!given || given->size() != 1)
      return;
    if (std::optional<int64_t> axis = b.resolveAxis(given->front(), rank))
      b.setResult(0, along(b, x, *axis));
    return;
  }
  Value chosen = b.get(1), result;
  const mlir::Type type = elementTypeOf(chosen);
  if (b.isFloat(chosen) || tensorTypeOf(chosen).getNumElements() != 1 || rank < 1)
    return (void)b.error("the axis must be one integer");
  chosen = b.makeReshape(chosen, {});
  for (int64_t axis = rank - 1; axis >= 0; --axis) {
    Value sums = along(b, x, axis);
    if (!sums)
      return;
    Value isThis =
        b.makeOr(b.makeCompare(ComparePredicate::EQ, chosen, b.makeInteger(type, axis)),
                 b.makeCompare(ComparePredicate::EQ, chosen, b.makeInteger(type, axis - rank)));
    result = result ? b.makeSelect(isThis, sums, result) : sums;
  }
  b.setResult(0, result);
}

constexpr OpEntry kTable[] = {
    {"ArgMax", 1, argument<false>, nullptr, OpenBatch::anywhere},
    {"ArgMin", 1, argument<true>, nullptr, OpenBatch::anywhere},
    {"CumProd", 26, cumulate<multiplyAlong>},
    {"CumSum", 11, cumulate<sumAlong>, nullptr, OpenBatch::anywhere},
    {"ReduceL1", 1, reduce<sumOfSizes, sumOfSizes>, nullptr, OpenBatch::anywhere},
    {"ReduceL2", 1, reduce<norm, normOfIntegers>, nullptr, OpenBatch::anywhere},
    {"ReduceLogSum", 1, reduce<logarithm>, nullptr, OpenBatch::anywhere},
    {"ReduceLogSumExp", 1, reduce<logOfExponentials>, nullptr, OpenBatch::anywhere},
    {"ReduceMax", 1, reduce<largest, largest>, nullptr, OpenBatch::anywhere},
    {"ReduceMean", 1, reduce<mean, meanOfIntegers>, nullptr, OpenBatch::anywhere},
    {"ReduceMin", 1, reduce<smallest, smallest>, nullptr, OpenBatch::anywhere},
    {"ReduceProd", 1, reduce<product, product>, nullptr, OpenBatch::anywhere},
    {"ReduceSum", 1, reduce<sum, sum, 13>, nullptr, OpenBatch::anywhere},
    {"ReduceSumSquare", 1, reduce<sumOfSquares, sumOfSquares>, nullptr, OpenBatch::anywhere},
};

} // namespace

llvm::ArrayRef<OpEntry> getReductionOps() { return kTable; }

} // namespace mpc::onnx
