// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Unique: elements, or slices along an axis, each once. Of constants their number is known; else
// each is compared with each, and a count says how many there are.
#include "lib/Import/Common/Shape.h"
#include "lib/Import/ONNX/NodeBuilder.h"
#include "lib/Import/ONNX/OpTable.h"
#include "lib/Import/ONNX/Ops/Casts.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

namespace mpc::onnx {
namespace {

using mlir::Value;
using B = NodeBuilder;
using Numbers = llvm::SmallVector<int64_t>;

/// Elements of constants that are compared with each other.
constexpr int64_t kMostElements = 1 << 16;
/// Comparisons of elements of others.
constexpr int64_t kMostComparisons = 1 << 24;

// ---- Of constants -------------------------------------------------------------------------------

/// Slices of a constant along an axis, or its elements, in an order of their values.
class Slices {
public:
  Slices(const ReferenceTensor &tensor, std::optional<int64_t> axis) : tensor(tensor) {
    shape = axis ? tensor.shape : Numbers{tensor.size()};
    place = size_t(axis.value_or(0));
    for (size_t d = place + 1; d < shape.size(); ++d)
      inner *= shape[d];
    for (size_t d = 0; d < place; ++d)
      outer *= shape[d];
  }
  int64_t count() const { return shape[place]; }
  /// Below 0 where slice `a` comes before slice `b`, 0 where they are the same.
  int compare(int64_t a, int64_t b) const {
    for (int64_t o = 0; o < outer; ++o)
      for (int64_t i = 0; i < inner; ++i)
        if (int order = compareElements(at(o, a, i), at(o, b, i)))
          return order;
    return 0;
  }
  /// These slices, one after the other.
  ReferenceTensor take(llvm::ArrayRef<int64_t> chosen) const {
    ReferenceTensor taken;
    Numbers takenShape = shape;
    takenShape[place] = int64_t(chosen.size());
    Numbers offsets;
    for (int64_t o = 0; o < outer; ++o)
      for (int64_t slice : chosen)
        for (int64_t i = 0; i < inner; ++i)
          offsets.push_back(at(o, slice, i));
    startReference(taken, tensor.elementType, takenShape);
    gatherReference(tensor, offsets, taken);
    return taken;
  }

private:
  int64_t at(int64_t o, int64_t slice, int64_t i) const {
    return (o * count() + slice) * inner + i;
  }
  int compareElements(int64_t a, int64_t b) const {
    if (tensor.isFloating()) {
      const double x = tensor.floats[size_t(a)], y = tensor.floats[size_t(b)];
      // NaN is the largest, as NumPy sorts it, so that the order is one.
      if (std::isnan(x) || std::isnan(y))
        return int(std::isnan(x)) - int(std::isnan(y));
      return (x > y) - (x < y);
    }
    return llvm::APSInt::compareValues(tensor.integerAt(a), tensor.integerAt(b));
  }

  const ReferenceTensor &tensor;
  Numbers shape;
  size_t place;
  int64_t inner = 1, outer = 1;
};

void ofConstant(B &b, const Literal *x, bool sorts, std::optional<int64_t> axis) {
  const Slices slices(x->tensor, axis);
  Numbers order = llvm::to_vector(llvm::seq<int64_t>(0, slices.count()));
  llvm::sort(order, [&](int64_t one, int64_t other) {
    const int difference = slices.compare(one, other);
    return difference ? difference < 0 : one < other;
  });
  Numbers first, group(order.size()), counts;
  for (const auto &[i, slice] : llvm::enumerate(order)) {
    if (i == 0 || slices.compare(order[i - 1], slice) != 0) {
      first.push_back(slice);
      counts.push_back(0);
    }
    group[size_t(slice)] = int64_t(first.size()) - 1;
    ++counts.back();
  }
  Numbers kept = llvm::to_vector(llvm::seq<int64_t>(0, int64_t(first.size()))), rank(first.size());
  if (!sorts)
    llvm::sort(kept, [&](int64_t one, int64_t other) {
      return first[size_t(one)] < first[size_t(other)];
    });
  Numbers indices, inverse, sortedCounts;
  for (const auto &[i, k] : llvm::enumerate(kept)) {
    rank[size_t(k)] = int64_t(i);
    indices.push_back(first[size_t(k)]);
    sortedCounts.push_back(counts[size_t(k)]);
  }
  for (int64_t k : group)
    inverse.push_back(rank[size_t(k)]);
  Literal y = *x;
  y.tensor = slices.take(indices);
  b.setResult(0, b.makeLiteral(y), x->type);
  const int64_t count = int64_t(indices.size());
  const auto setIntegers = [&](unsigned i, int64_t extent, llvm::ArrayRef<int64_t> values) {
    b.setResult(i, b.makeLiteral(Literal::fromIntegers(b.builder, {extent}, values)),
                DataType::Int64);
  };
  setIntegers(1, count, indices);
  setIntegers(2, slices.count(), inverse);
  setIntegers(3, count, sortedCounts);
}

// ---- Of values ----------------------------------------------------------------------------------

/// Slices [count, elements], compared with each other: [count, count, …], of a slice with the
/// others.
class SlicePairs {
public:
  SlicePairs(B &b, Value rows) : b(b), count(b.shapeOf(rows)[0]), width(b.shapeOf(rows)[1]) {
    if (elementTypeOf(rows).isInteger(1))
      rows = castTo(b, rows, b.builder.getI32Type());
    mine = b.makeReshape(rows, {count, 1, width});
    others = b.makeReshape(rows, {1, count, width});
  }

  /// NaN is what NaN is.
  Value areEqual() { return all(elementsAreEqual()); }
  /// Whether the other comes before: by the first element that differs, NaN behind all numbers.
  Value otherIsLess() {
    Value differs = b.makeNot(elementsAreEqual());
    Value places =
        castTo(b, b.makeIndices({1, 1, width}, llvm::to_vector(llvm::seq<int64_t>(0, width))),
               b.builder.getI32Type());
    Value far = b.makeInteger(b.builder.getI32Type(), width);
    Value first = b.makeReduce(ReduceKind::Min, b.makeSelect(differs, places, far), {2},
                               /*keepDims=*/true);
    Value less = b.makeCompare(ComparePredicate::LT, others, mine);
    if (B::isFloat(mine))
      less = b.makeOr(less, both(b.makeNot(isNaN(others)), isNaN(mine)));
    Value decides = both(b.makeCompare(ComparePredicate::EQ, places, first), differs);
    return b.makeReduce(ReduceKind::Any, both(decides, less), {2}, /*keepDims=*/false);
  }

private:
  Value both(Value lhs, Value rhs) { return b.make<LogicalAndOp>(lhs, rhs); }
  Value all(Value x) { return b.makeReduce(ReduceKind::All, x, {2}, /*keepDims=*/false); }
  Value isNaN(Value x) { return b.makeCompare(ComparePredicate::NE, x, x); }
  Value elementsAreEqual() {
    Value equal = b.makeCompare(ComparePredicate::EQ, mine, others);
    return B::isFloat(mine) ? b.makeOr(equal, both(isNaN(mine), isNaN(others))) : equal;
  }

  B &b;
  const int64_t count, width;
  Value mine, others;
};

/// `rows` [count, …] are what there may be; the results are bounded.
void ofValues(B &b, Value rows, bool sorts, int64_t axis) {
  const int64_t count = b.shapeOf(rows)[0];
  const mlir::Type i32 = b.builder.getI32Type(), i64 = b.builder.getI64Type();
  SlicePairs pairs(b, b.makeReshape(rows, {count, tensorTypeOf(rows).getNumElements() / count}));
  const Numbers numbers = llvm::to_vector(llvm::seq<int64_t>(0, count));
  Value row = castTo(b, b.makeIndices({1, count}, numbers), i32),
        column = castTo(b, b.makeIndices({count, 1}, numbers), i32);
  const auto along = [&](ReduceKind kind, Value x) {
    return b.makeReduce(kind, x, {1}, /*keepDims=*/false);
  };
  const auto countTrue = [&](Value x) { return along(ReduceKind::Sum, castTo(b, x, i32)); };
  const auto both = [&](Value lhs, Value rhs) { return b.make<LogicalAndOp>(lhs, rhs); };
  const auto asRow = [&](Value x) { return b.makeReshape(x, {1, count}); };
  // Each slice has a first one that is the same.
  Value first =
      along(ReduceKind::Min, b.makeSelect(pairs.areEqual(), row, b.makeInteger(i32, count)));
  Value isFirst = b.makeCompare(ComparePredicate::EQ, first, b.makeReshape(column, {count}));
  Value precedes = sorts
                       ? pairs.otherIsLess()
                       : b.makeCompare(ComparePredicate::LT, row, b.makeReshape(first, {count, 1}));
  Value rank = countTrue(both(asRow(isFirst), precedes));
  Value hasRank = b.makeCompare(ComparePredicate::EQ, asRow(rank), column);
  Value isHere = both(hasRank, asRow(isFirst));
  Value places = along(ReduceKind::Sum, b.make<MultiplyOp>(castTo(b, isHere, i32), row));
  Value total = castTo(b, b.makeReduce(ReduceKind::Sum, castTo(b, isFirst, i32), {0}, false), i64);
  b.setBound(places, 0, total);
  Value y = b.make<GatherOp>(rows, places, int64_t(0), int64_t(0));
  if (axis > 0) {
    Numbers order = llvm::to_vector(llvm::seq<int64_t>(1, axis + 1));
    order.push_back(0);
    llvm::append_range(order, llvm::seq<int64_t>(axis + 1, b.rankOf(rows)));
    y = b.make<TransposeOp>(y, order);
  }
  b.setResult(0, y, b.getType(0));
  b.setResult(1, castTo(b, places, i64), DataType::Int64);
  b.setResult(2, castTo(b, rank, i64), DataType::Int64);
  Value often = castTo(b, countTrue(hasRank), i64);
  b.setBound(often, 0, total);
  b.setResult(3, often, DataType::Int64);
}

/// Each once, sorted or in the order in which they come first; where they are, and how often.
void unique(B &b) {
  const bool sorts = b.attributes.getFlag("sorted", true);
  const Literal *constant = b.getLiteral(0);
  Value x = constant ? Value() : b.get(0);
  if (!constant && !x)
    return;
  const Numbers shape = b.getShape(0);
  std::optional<int64_t> axis;
  if (b.attributes.has("axis")) {
    axis = b.resolveAxis(b.attributes.getInteger("axis", 0), int64_t(shape.size()));
    if (!axis)
      return;
  }
  if (constant && !constant->hasBatch && constant->tensor.size() <= kMostElements)
    return ofConstant(b, constant, sorts, axis);
  if (constant || mlir::ShapedType::isDynamicShape(shape))
    return (void)b.errorOfOpenBatch("compares samples of the open batch with each other, or takes "
                                    "a constant of more than " +
                                    llvm::Twine(kMostElements) + " elements");
  int64_t elements = 1;
  for (int64_t extent : shape)
    elements *= extent;
  const int64_t count = axis ? shape[size_t(*axis)] : elements;
  if (elements == 0 || elements > kMostComparisons / count)
    return (void)b.error("compares " + llvm::Twine(count) + " parts of a tensor of shape " +
                         printShape(shape) + " with each other; expected at most 2^24 comparisons");
  if (!axis)
    x = b.makeReshape(x, {elements});
  if (count == 1) { // which is always there
    b.setResult(0, x, b.getType(0));
    for (unsigned i = 1; i < 4; ++i) {
      Literal number = Literal::fromIntegers(b.builder, {1}, {i == 3});
      b.setResult(i, b.makeLiteral(number), DataType::Int64);
    }
    return;
  }
  if (axis.value_or(0) > 0) {
    Numbers order = llvm::to_vector(llvm::seq<int64_t>(0, int64_t(shape.size())));
    order.erase(order.begin() + *axis);
    order.insert(order.begin(), *axis);
    x = b.make<TransposeOp>(x, order);
  }
  ofValues(b, x, sorts, axis.value_or(0));
}

constexpr OpEntry kTable[] = {{"Unique", 11, unique}};

} // namespace

llvm::ArrayRef<OpEntry> getUniqueOps() { return kTable; }

} // namespace mpc::onnx
