// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sort, Argsort, TopK: the place of an element is how many others precede it. That takes the square
// of the extent in comparisons, all independent of each other.
#include "lib/Import/Keras/Operations/OperationBuilder.h"

namespace mpc::keras {
namespace {

using mlir::Value;
using B = OperationBuilder;

constexpr int64_t kMostSorted = 2048;

/// A permutation of an axis, there and back, that puts it last.
struct LastAxis {
  llvm::SmallVector<int64_t> there, back;
  bool moves;

  LastAxis(int64_t axis, int64_t rank) : back(rank), moves(axis != rank - 1) {
    for (int64_t d = 0; d < rank; ++d)
      if (d != axis)
        there.push_back(d);
    there.push_back(axis);
    for (const auto &[place, d] : llvm::enumerate(there))
      back[d] = int64_t(place);
  }
  Value move(B &b, Value x) const { return moves ? b.make<TransposeOp>(x, there) : x; }
  Value restore(B &b, Value x) const { return moves ? b.make<TransposeOp>(x, back) : x; }
};

Value castTo(B &b, Value x, mlir::Type element) {
  return b.make<CastOp>(mlir::RankedTensorType::get(b.shapeOf(x), element), x);
}

Value makeAnd(B &b, Value lhs, Value rhs) { return b.makeSelect(lhs, rhs, lhs); }

/// Where the elements of the last axis are in sorted order, int32: of equal ones the first comes
/// first, as in TensorFlow; NaN counts as the largest, so that there is an order.
Value argsortLast(B &b, Value x, bool descending) {
  const int64_t rank = b.rankOf(x), extent = b.shapeOf(x).back();
  if (elementTypeOf(x).isInteger(1))
    x = castTo(b, x, b.builder.getI32Type());
  llvm::SmallVector<int64_t> own(b.shapeOf(x)), others(b.shapeOf(x));
  own.push_back(1);
  others.insert(others.end() - 1, 1);
  Value mine = b.makeReshape(x, own), other = b.makeReshape(x, others);
  Value precedes =
      b.makeCompare(descending ? ComparePredicate::GT : ComparePredicate::LT, other, mine);
  Value equals = b.makeCompare(ComparePredicate::EQ, other, mine);
  if (mlir::isa<mlir::FloatType>(elementTypeOf(x))) {
    Value mineIsNaN = b.makeCompare(ComparePredicate::NE, mine, mine),
          otherIsNaN = b.makeCompare(ComparePredicate::NE, other, other);
    Value first = descending ? makeAnd(b, otherIsNaN, b.makeNot(mineIsNaN))
                             : makeAnd(b, mineIsNaN, b.makeNot(otherIsNaN));
    precedes = b.makeOr(precedes, first);
    equals = b.makeOr(equals, makeAnd(b, mineIsNaN, otherIsNaN));
  }
  llvm::SmallVector<int64_t> places = llvm::to_vector(llvm::seq<int64_t>(0, extent));
  Value rows = b.makeIndices({extent, 1}, places), columns = b.makeIndices({1, extent}, places);
  precedes =
      b.makeOr(precedes, makeAnd(b, equals, b.makeCompare(ComparePredicate::LT, columns, rows)));
  const mlir::Type i32 = b.builder.getI32Type();
  Value order = b.makeReduce(ReduceKind::Sum, castTo(b, precedes, i32), {rank}, /*keepDims=*/false);
  // The inverse permutation: which element has place k.
  llvm::SmallVector<int64_t> spread(b.shapeOf(order));
  spread.insert(spread.end() - 1, 1);
  Value hits = b.makeCompare(ComparePredicate::EQ, b.makeReshape(order, spread), rows);
  Value numbers = b.make<MultiplyOp>(castTo(b, hits, i32), columns);
  return b.makeReduce(ReduceKind::Sum, numbers, {rank}, /*keepDims=*/false);
}

} // namespace

Value sortLastAxis(OperationBuilder &b, Value x) {
  const int64_t last = b.rankOf(x) - 1;
  if (b.shapeOf(x).back() > kMostSorted)
    return b.error("'" + b.layer.className + "' of " + llvm::Twine(b.shapeOf(x).back()) +
                   " elements is not supported; the limit is " + llvm::Twine(kMostSorted));
  return b.make<GatherOp>(x, argsortLast(b, x, /*descending=*/false), last, last);
}

namespace {

/// The operand and its axis; null after an error.
std::pair<Value, int64_t> readSorted(B &b) {
  Value x = b.getValue(0, "x");
  if (!x)
    return {};
  if (!b.findArgument(1, "axis")) {
    b.error("'" + b.layer.className + "' without an axis sorts across samples; name one");
    return {};
  }
  std::optional<int64_t> axis = b.getAxis(1, "axis", -1, b.rankOf(x));
  if (!axis)
    return {};
  if (const int64_t extent = b.shapeOf(x)[*axis]; extent > kMostSorted) {
    b.error("'" + b.layer.className + "' of " + llvm::Twine(extent) +
            " elements is not supported; the limit is " + llvm::Twine(kMostSorted));
    return {};
  }
  return {x, *axis};
}

template <bool valuesOnly> Value sortAlong(B &b) {
  auto [x, axis] = readSorted(b);
  if (!x)
    return {};
  const LastAxis last(axis, b.rankOf(x));
  Value moved = last.move(b, x), order = argsortLast(b, moved, /*descending=*/false);
  if (valuesOnly)
    order = b.make<GatherOp>(moved, order, b.rankOf(x) - 1, b.rankOf(x) - 1);
  return last.restore(b, order);
}

/// The largest along the last axis, in order, and their places.
Value topK(B &b) {
  Value x = b.getValue(0, "x");
  std::optional<int64_t> count = b.getInteger(1, "k");
  if (!x || !count)
    return x && !b.hasFailed() ? b.error("'TopK' needs 'k'") : Value();
  const int64_t rank = b.rankOf(x), extent = b.shapeOf(x).back();
  if (rank < 2 || extent > kMostSorted)
    return b.error("'TopK' across samples, or of more than " + llvm::Twine(kMostSorted) +
                   " elements, is not supported");
  if (*count < 1 || *count > extent)
    return b.error("'k' of 'TopK' is " + llvm::Twine(*count) + " of " + llvm::Twine(extent));
  Value order = argsortLast(b, x, /*descending=*/true);
  if (*count < extent)
    order = b.make<SliceOp>(order, rank - 1, int64_t(0), *count);
  b.addResult(order);
  return b.make<GatherOp>(x, order, rank - 1, rank - 1);
}

/// Whether fewer than k classes have larger scores than the target's; not where a score or the
/// target is none.
Value isInTopK(B &b) {
  Value targets = b.getValue(0, "targets"), scores = b.getFloat(1, "predictions");
  std::optional<int64_t> count = b.getInteger(2, "k");
  if (!targets || !scores || !count)
    return b.error("'InTopK' needs targets, predictions and 'k'");
  if (b.rankOf(targets) != 1 || b.rankOf(scores) != 2 ||
      b.shapeOf(targets).front() != b.shapeOf(scores).front() ||
      mlir::isa<mlir::FloatType>(elementTypeOf(targets)))
    return b.error("'InTopK' takes integers [batch] and predictions [batch, classes]");
  const int64_t classes = b.shapeOf(scores).back();
  llvm::SmallVector<int64_t> numbers = llvm::to_vector(llvm::seq<int64_t>(0, classes));
  Value column =
      b.makeReshape(castTo(b, targets, b.builder.getI32Type()), {b.shapeOf(targets).front(), 1});
  Value hit = b.makeCompare(ComparePredicate::EQ, column, b.makeIndices({classes}, numbers));
  Value own = b.makeReduce(ReduceKind::Sum,
                           b.makeSelect(hit, scores, b.makeCastLike(b.makeConstant(0.0), scores)),
                           {1}, /*keepDims=*/true);
  Value larger =
      castTo(b, b.makeCompare(ComparePredicate::GT, scores, own), b.builder.getI32Type());
  Value before = b.makeReduce(ReduceKind::Sum, larger, {1}, /*keepDims=*/false);
  Value near = b.makeCompare(ComparePredicate::LT, before,
                             b.makeScalar(b.builder.getI32Type(), double(*count)));
  Value exists = b.makeReduce(ReduceKind::Any, hit, {1}, false);
  Value finite = b.makeReduce(ReduceKind::All, b.make<IsFiniteOp>(scores), {1}, false);
  return b.make<LogicalAndOp>(near, b.make<LogicalAndOp>(exists, finite));
}

constexpr OperationEntry kSortingOperations[] = {
    {"Argsort", sortAlong<false>},
    {"InTopK", isInTopK},
    {"Sort", sortAlong<true>},
    {"TopK", topK},
};

} // namespace

llvm::ArrayRef<OperationEntry> sortingOperations() { return kSortingOperations; }

} // namespace mpc::keras
