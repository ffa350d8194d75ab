// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sort, Argsort, TopK, InTopK.
#include "lib/Import/Common/Sorting.h"
#include "lib/Import/Keras/Operations/OperationBuilder.h"

namespace mpc::keras {
namespace {

using mlir::Value;
using B = OperationBuilder;

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
  std::optional<int64_t> axis = b.getAxis(1, "axis", -1, x);
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
