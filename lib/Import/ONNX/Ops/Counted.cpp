// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Operations with as many results as values say. Of constants the number is known.
#include "lib/Import/ONNX/NodeBuilder.h"
#include "lib/Import/ONNX/OpTable.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

namespace mpc::onnx {
namespace {

using mlir::Value;
using B = NodeBuilder;
using Numbers = llvm::SmallVector<int64_t>;

/// Elements that are compared with each other.
constexpr int64_t kMostElements = 1 << 16;

const Literal *readConstant(B &b) {
  const Literal *literal = b.getLiteral(0);
  if (literal && !literal->hasBatch && literal->tensor.size() <= kMostElements)
    return literal;
  b.error("has as many results as values say, and a compiled model has static shapes; supported "
          "are constants of at most " +
          llvm::Twine(kMostElements) + " elements");
  return nullptr;
}

void setIntegers(B &b, unsigned i, llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> values) {
  b.setResult(i, b.makeLiteral(Literal::fromIntegers(b.builder, shape, values)), DataType::Int64);
}

/// The place of each element that is not zero, a column for each.
void nonZero(B &b) {
  const Literal *x = readConstant(b);
  if (!x)
    return;
  const auto strides = rowMajorStrides(x->tensor.shape);
  Numbers found;
  for (int64_t i = 0, count = x->tensor.size(); i < count; ++i)
    if (x->tensor.at(i) != 0)
      found.push_back(i);
  Numbers places;
  for (const auto &[stride, extent] : llvm::zip_equal(strides, x->tensor.shape))
    for (int64_t i : found)
      places.push_back(i / stride % extent);
  setIntegers(b, 0, {int64_t(x->tensor.shape.size()), int64_t(found.size())}, places);
}

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

/// Each once, sorted or in the order in which they come first; where they are, and how often.
void unique(B &b) {
  const bool sorts = b.attributes.getFlag("sorted", true);
  const Literal *x = readConstant(b);
  if (!x)
    return;
  std::optional<int64_t> axis;
  if (b.attributes.has("axis")) {
    axis = b.resolveAxis(b.attributes.getInteger("axis", 0), int64_t(x->tensor.shape.size()));
    if (!axis)
      return;
  }
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
  setIntegers(b, 1, {count}, indices);
  setIntegers(b, 2, {slices.count()}, inverse);
  setIntegers(b, 3, {count}, sortedCounts);
}

constexpr OpEntry kTable[] = {
    {"NonZero", 9, nonZero},
    {"Unique", 11, unique},
};

} // namespace

llvm::ArrayRef<OpEntry> getCountedOps() { return kTable; }

} // namespace mpc::onnx
