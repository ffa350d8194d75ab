// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Elements at indices that are data.
#include "lib/Import/Common/Shape.h"
#include "lib/Import/Common/Sorting.h"
#include "lib/Import/ONNX/GraphImporter.h"
#include "lib/Import/ONNX/NodeBuilder.h"
#include "lib/Import/ONNX/OpTable.h"
#include "lib/Import/ONNX/Ops/Broadcasts.h"
#include "lib/Import/ONNX/Ops/Casts.h"
#include "lib/Import/ONNX/Ops/LastAxis.h"
#include "lib/Import/ONNX/Ops/Scatter.h"

namespace mpc::onnx {
namespace {

using mlir::Value;
using B = NodeBuilder;
using Extents = llvm::SmallVector<int64_t>;

bool isInteger(B &b, Value x) { return !b.isFloat(x) && !elementTypeOf(x).isInteger(1); }

Extents concatenate(llvm::ArrayRef<int64_t> front, llvm::ArrayRef<int64_t> back) {
  Extents all(front);
  all.append(back.begin(), back.end());
  return all;
}

// ---- Along one axis -----------------------------------------------------------------------------

/// The part of `x` that has the extents of `like` but along `axis`; null after an error.
Value cutLike(B &b, Value x, Value like, int64_t axis) {
  for (int64_t d = 0; d < b.rankOf(x); ++d) {
    const int64_t own = b.shapeOf(x)[size_t(d)], wanted = b.shapeOf(like)[size_t(d)];
    if (d == axis || own == wanted)
      continue;
    if (mlir::ShapedType::isDynamic(own) || mlir::ShapedType::isDynamic(wanted) || wanted > own)
      return b.error("the shape " + printShape(b.shapeOf(like)) + " of the indices does not fit " +
                     printShape(b.shapeOf(x)));
    x = b.make<SliceOp>(x, d, int64_t(0), wanted);
  }
  return x;
}

void gatherElements(B &b) {
  Value x = b.get(0), indices = b.get(1);
  if (!x || !indices)
    return;
  const int64_t rank = b.rankOf(x);
  std::optional<int64_t> axis = b.resolveAxis(b.attributes.getInteger("axis", 0), rank);
  if (!axis)
    return;
  if (!isInteger(b, indices) || b.rankOf(indices) != rank ||
      mlir::ShapedType::isDynamic(b.shapeOf(x)[size_t(*axis)]))
    return (void)b.error("takes integer indices of the input's rank, along an axis that is not the "
                         "open batch");
  x = cutLike(b, x, indices, *axis);
  if (!x)
    return;
  const LastAxis last(*axis, rank);
  Value y = b.make<GatherOp>(last.move(b, x), last.move(b, indices), rank - 1, rank - 1);
  b.setResult(0, last.restore(b, y), b.getType(0));
}

/// The indices' part of `x` replaced by what `replaceAll` makes of it; the rest stays.
Value replacePart(B &b, Value x, Value indices, int64_t axis,
                  llvm::function_ref<Value(Value)> replaceAll, int64_t d = 0) {
  if (d == b.rankOf(x))
    return replaceAll(x);
  const int64_t own = b.shapeOf(x)[size_t(d)], wanted = b.shapeOf(indices)[size_t(d)];
  if (d == axis || own == wanted)
    return replacePart(b, x, indices, axis, replaceAll, d + 1);
  if (mlir::ShapedType::isDynamic(own) || mlir::ShapedType::isDynamic(wanted) || wanted > own)
    return b.error("the shape " + printShape(b.shapeOf(indices)) + " of the indices does not fit " +
                   printShape(b.shapeOf(x)));
  Value part =
      replacePart(b, b.make<SliceOp>(x, d, int64_t(0), wanted), indices, axis, replaceAll, d + 1);
  if (!part)
    return {};
  Value rest = b.make<SliceOp>(x, d, wanted, own - wanted);
  return b.make<ConcatenateOp>(mlir::ValueRange{part, rest}, d);
}

void scatterElements(B &b) {
  Value x = b.get(0), indices = b.get(1), updates = b.get(2);
  if (!x || !indices || !updates)
    return;
  const int64_t rank = b.rankOf(x);
  std::optional<int64_t> axis = b.resolveAxis(b.attributes.getInteger("axis", 0), rank);
  if (!axis)
    return;
  if (!isInteger(b, indices) || b.rankOf(indices) != rank ||
      b.shapeOf(indices) != b.shapeOf(updates))
    return (void)b.error("takes integer indices of the input's rank, and updates of their shape");
  const LastAxis last(*axis, rank);
  Value y = replacePart(b, x, indices, *axis, [&](Value part) -> Value {
    Value table = last.move(b, part);
    Value places = countFromFront(b, last.move(b, indices), b.shapeOf(table).back());
    Value rows = scatterRows(b, table, places, last.move(b, updates),
                             b.attributes.getText("reduction", "none"));
    return rows ? last.restore(b, rows) : Value();
  });
  if (y)
    b.setResult(0, y, b.getType(0));
}

// ---- By tuples ----------------------------------------------------------------------------------

/// Tuples [q…, k] of indices into extents as indices into their product [q…].
Value flattenTuples(B &b, Value tuples, llvm::ArrayRef<int64_t> extents) {
  const int64_t last = b.rankOf(tuples) - 1;
  const mlir::Type type = elementTypeOf(tuples);
  const Extents shape(b.shapeOf(tuples).drop_back());
  Value flat;
  for (const auto &[i, extent] : llvm::enumerate(extents)) {
    Value part = b.makeReshape(b.make<SliceOp>(tuples, last, int64_t(i), int64_t(1)), shape);
    Value front = countFromFront(b, part, extent);
    flat =
        flat ? b.make<AddOp>(b.make<MultiplyOp>(flat, b.makeInteger(type, extent)), front) : front;
  }
  return flat;
}

/// The input, whose `k` dimensions behind the first `batchDims` became one.
struct Flattened {
  Value table, indices;
};

std::optional<Flattened> flatten(B &b, Value x, Value tuples, int64_t batchDims) {
  const int64_t k = b.rankOf(tuples) ? b.shapeOf(tuples).back() : 0;
  if (!isInteger(b, tuples) || b.rankOf(tuples) <= batchDims || batchDims < 0 || k < 1 ||
      k > b.rankOf(x) - batchDims) {
    b.error("needs integer tuples that index dimensions of the input; the shapes are " +
            printShape(b.shapeOf(x)) + " and " + printShape(b.shapeOf(tuples)));
    return std::nullopt;
  }
  const Extents extents(b.shapeOf(x).slice(size_t(batchDims), size_t(k)));
  int64_t count = 1;
  for (int64_t extent : extents) {
    if (mlir::ShapedType::isDynamic(extent) || count > (int64_t(1) << 40) / extent) {
      b.errorOfOpenBatch("the tuples index the open batch, or too many elements");
      return std::nullopt;
    }
    count *= extent;
  }
  Extents shape(b.shapeOf(x).take_front(size_t(batchDims)));
  shape.push_back(count);
  llvm::append_range(shape, b.shapeOf(x).drop_front(size_t(batchDims + k)));
  return Flattened{b.makeReshape(x, shape), flattenTuples(b, tuples, extents)};
}

void gatherND(B &b) {
  Value x = b.get(0), tuples = b.get(1);
  if (!x || !tuples)
    return;
  const int64_t batchDims = b.attributes.getInteger("batch_dims", 0);
  std::optional<Flattened> flat = flatten(b, x, tuples, batchDims);
  if (!flat)
    return;
  if (b.shapeOf(x).take_front(size_t(batchDims)) != b.shapeOf(tuples).take_front(size_t(batchDims)))
    return (void)b.error("input and indices differ in their batch dimensions");
  b.setResult(0, b.make<GatherOp>(flat->table, flat->indices, batchDims, batchDims), b.getType(0));
}

void scatterND(B &b) {
  Value x = b.get(0), tuples = b.get(1), updates = b.get(2);
  if (!x || !tuples || !updates)
    return;
  std::optional<Flattened> flat = flatten(b, x, tuples, 0);
  if (!flat)
    return;
  const Extents rest(b.shapeOf(flat->table).drop_front());
  if (b.shapeOf(updates) != llvm::ArrayRef(concatenate(b.shapeOf(tuples).drop_back(), rest)))
    return (void)b.error("the updates' shape " + printShape(b.shapeOf(updates)) +
                         " does not fit that of indices and input");
  const int64_t count = b.rankOf(flat->indices) ? tensorTypeOf(flat->indices).getNumElements() : 1;
  Value rows = b.makeReshape(updates, concatenate({count}, rest));
  Value y = scatterRows(b, flat->table, b.makeReshape(flat->indices, {count}), rows,
                        b.attributes.getText("reduction", "none"));
  if (y)
    b.setResult(0, b.makeReshape(y, b.shapeOf(x)), b.getType(0));
}

/// A cache [batch, …, sequence, …] with new elements from each sample's place on.
void tensorScatter(B &b) {
  Value cache = b.get(0), update = b.get(1);
  if (!cache || !update)
    return;
  const int64_t rank = b.rankOf(cache);
  std::optional<int64_t> axis = b.resolveAxis(b.attributes.getInteger("axis", -2), rank);
  if (!axis)
    return;
  if (*axis == 0 || b.rankOf(update) != rank)
    return (void)b.error("takes a cache and an update of one rank, along another axis than the "
                         "batch");
  const int64_t extent = b.shapeOf(cache)[size_t(*axis)], count = b.shapeOf(update)[size_t(*axis)];
  const mlir::Type i64 = b.builder.getI64Type();
  const auto numbers = llvm::to_vector(llvm::seq<int64_t>(0, count));
  Value places = castTo(b, b.makeIndices({count}, numbers), i64);
  if (b.has(2)) {
    Value starts = b.get(2);
    if (!starts)
      return;
    Extents column(size_t(*axis) + 1, 1);
    column.front() = b.shapeOf(starts).front();
    places = b.make<AddOp>(b.makeReshape(castTo(b, starts, i64), column), places);
  }
  if (b.attributes.getText("mode", "linear") == "circular")
    places = b.make<IntegerOp>(IntegerKind::Modulo, places, b.makeInteger(i64, extent));
  places = broadcastTo(b, places, concatenate(b.shapeOf(cache).take_front(size_t(*axis)), {count}));
  Value y = places ? scatterRows(b, cache, places, update, "none") : Value();
  if (y)
    b.setResult(0, y, b.getType(0));
}

// ---- By value -----------------------------------------------------------------------------------

void topK(B &b) {
  Value x = b.get(0);
  if (!x)
    return;
  b.attributes.ignore("sorted"); // without it any order is right
  int64_t count = b.attributes.getInteger("k", 0);
  if (b.opset >= 10) {
    auto given = b.getIntegers(1, "k");
    if (!given)
      return;
    count = given->size() == 1 ? given->front() : 0;
  }
  std::optional<int64_t> axis = b.resolveAxis(b.attributes.getInteger("axis", -1), b.rankOf(x));
  if (!axis)
    return;
  const LastAxis last(*axis, b.rankOf(x));
  Value moved = last.move(b, x);
  const int64_t extent = b.shapeOf(moved).back(), rank = b.rankOf(x);
  if (mlir::ShapedType::isDynamic(extent) || extent > kMostSorted || count < 1 || count > extent)
    return (void)b.error("takes the first " + llvm::Twine(count) + " of " + llvm::Twine(extent) +
                         "; supported are 1 to all of at most " + llvm::Twine(kMostSorted) +
                         " elements along another axis than the open batch");
  Value order = argsortLast(b, moved, b.attributes.getFlag("largest", true));
  order = b.make<SliceOp>(order, rank - 1, int64_t(0), count);
  Value values = b.make<GatherOp>(moved, order, rank - 1, rank - 1);
  b.setResult(0, last.restore(b, values), b.getType(0));
  b.setResult(1, castTo(b, last.restore(b, order), b.builder.getI64Type()));
}

/// The second of two values at an index along a new axis, elsewhere the first.
void oneHot(B &b) {
  Value indices = b.get(0);
  auto depth = b.getNumbers(1, "the depth");
  Value values = b.get(2);
  if (!indices || !depth || !values)
    return;
  const int64_t rank = b.rankOf(indices) + 1;
  std::optional<int64_t> axis = b.resolveAxis(b.attributes.getInteger("axis", -1), rank);
  if (!axis)
    return;
  if (depth->size() != 1 || !(depth->front() >= 1 && depth->front() <= 1 << 24) ||
      b.shapeOf(values) != llvm::ArrayRef<int64_t>{2})
    return (void)b.error("takes a depth of 1 to 2^24, and two values");
  const auto count = int64_t(depth->front());
  const mlir::Type i64 = b.builder.getI64Type();
  Value places = countFromFront(b, castTo(b, indices, i64), count);
  Extents spread(b.shapeOf(indices)), numbered(size_t(rank), 1);
  spread.insert(spread.begin() + *axis, 1);
  numbered[size_t(*axis)] = count;
  if (mlir::ShapedType::isDynamic(spread.back()) && rank > 1 && spread.front() == 1 && *axis == 0)
    return (void)b.errorOfOpenBatch("the open batch would not be the first dimension");
  Value numbers = b.makeIndices(numbered, llvm::to_vector(llvm::seq<int64_t>(0, count)));
  Value isHit =
      b.makeCompare(ComparePredicate::EQ, b.makeReshape(places, spread), castTo(b, numbers, i64));
  const auto pick = [&](int64_t i) {
    return b.makeReshape(b.make<SliceOp>(values, int64_t(0), i, int64_t(1)), {});
  };
  b.setComputeType(isFloating(b.getType(2)) ? b.getType(2) : DataType::Float);
  b.setResult(0, b.makeSelect(isHit, pick(1), pick(0)), b.getType(2));
}

constexpr OpEntry kTable[] = {
    {"GatherElements", 11, gatherElements},
    {"GatherND", 11, gatherND, nullptr, OpenBatch::anywhere},
    {"OneHot", 9, oneHot},
    {"Scatter", 9, scatterElements},
    {"ScatterElements", 11, scatterElements},
    {"ScatterND", 11, scatterND},
    {"TensorScatter", 24, tensorScatter},
    {"TopK", 1, topK},
};

} // namespace

llvm::ArrayRef<OpEntry> getIndexingOps() { return kTable; }

} // namespace mpc::onnx
