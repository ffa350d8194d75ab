// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Windows back into the tensor that they were taken from: sums of blocks, and largest elements at
// their places.
#include "lib/Import/Common/Shape.h"
#include "lib/Import/ONNX/NodeBuilder.h"
#include "lib/Import/ONNX/OpTable.h"
#include "lib/Import/ONNX/Ops/Axes.h"
#include "lib/Import/ONNX/Ops/Broadcasts.h"
#include "lib/Import/ONNX/Ops/Scatter.h"
#include "lib/Import/ONNX/Ops/Windows.h"

namespace mpc::onnx {
namespace {

using mlir::Value;
using B = NodeBuilder;
using Extents = llvm::SmallVector<int64_t>;

/// Elements of a block, each of which is a term of the sum.
constexpr int64_t kMostTerms = 1024;

/// Positive extents that an input says; nothing after an error.
std::optional<Extents> readExtents(B &b, unsigned i, llvm::StringRef what) {
  auto given = b.getIntegers(i, what);
  if (given && (given->empty() || llvm::any_of(*given, [](int64_t extent) {
                  return extent < 1 || extent > kMostSpatial;
                }))) {
    b.error(what + " must be positive extents");
    return std::nullopt;
  }
  return given ? std::optional<Extents>(Extents(*given)) : std::nullopt;
}

/// [batch, channels * block, places] as the sum of all blocks where they were: for each element of
/// the block the tensor that has it at every place, and zeros elsewhere.
void sumBlocks(B &b) {
  Value x = b.get(0);
  auto image = readExtents(b, 1, "image_shape");
  auto block = image ? readExtents(b, 2, "block_shape") : std::nullopt;
  if (!x || !image || !block)
    return;
  const size_t rank = image->size();
  Extents strides, dilations, pads;
  if (!readNumbers(b, "strides", rank, 1, 1, strides) ||
      !readNumbers(b, "dilations", rank, 1, 1, dilations) ||
      !readNumbers(b, "pads", 2 * rank, 0, 0, pads))
    return;
  int64_t terms = 1, count = 1;
  bool fits = true;
  Extents places;
  for (size_t d = 0; d < rank && block->size() == rank; ++d) {
    const int64_t room =
        (*image)[d] + pads[d] + pads[rank + d] - ((*block)[d] - 1) * dilations[d] - 1;
    places.push_back(room < 0 ? 0 : room / strides[d] + 1);
    terms = std::min(terms * std::min((*block)[d], kMostTerms + 1), kMostTerms + 1);
    fits &= places.back() <= kMostSpatial / std::max<int64_t>(count, 1);
    count *= fits ? places.back() : 0;
  }
  if (places.size() != rank || !fits || b.rankOf(x) != 3 || terms > kMostTerms || count < 1 ||
      b.shapeOf(x)[1] % terms || b.shapeOf(x)[2] != count)
    return (void)b.error("blocks of the shape " + printShape(*block) + " of an image of " +
                         printShape(*image) + " do not fit the input's shape " +
                         printShape(b.shapeOf(x)) + ", or have more than " +
                         llvm::Twine(kMostTerms) + " elements");
  const int64_t channels = b.shapeOf(x)[1] / terms;
  Extents shape{b.shapeOf(x)[0], channels, terms};
  llvm::append_range(shape, places);
  x = b.makeReshape(b.makeCastLike(x, x, /*wide=*/true), shape);
  shape.erase(shape.begin() + 2);
  Extents place(rank, 0);
  Value sum;
  for (int64_t term = 0; term < terms; ++term) {
    Value part = b.makeReshape(b.make<SliceOp>(x, int64_t(2), term, int64_t(1)), shape);
    llvm::SmallVector<ResampleTable> tables;
    for (size_t d = 0; d < rank; ++d) {
      ResampleTable table;
      table.axis = int64_t(d) + 2;
      table.indices.assign(size_t((*image)[d]), -1);
      for (int64_t i = 0; i < places[d]; ++i)
        if (int64_t at = i * strides[d] + place[d] * dilations[d] - pads[d];
            at >= 0 && at < (*image)[d])
          table.indices[size_t(at)] = i;
      tables.push_back(std::move(table));
    }
    part = resample(b, part, tables);
    sum = sum ? b.make<AddOp>(sum, part) : part;
    for (size_t d = rank; d-- > 0;) {
      if (++place[d] < (*block)[d])
        break;
      place[d] = 0;
    }
  }
  b.setResult(0, b.makeCastLike(sum, b.get(0)), b.getType(0));
}

/// The extents of what was pooled, by the attributes.
std::optional<Extents> findPooled(B &b, llvm::ArrayRef<int64_t> pooled) {
  const size_t rank = pooled.size() - 2;
  Extents kernel, strides, pads;
  if (!readNumbers(b, "kernel_shape", rank, 0, 1, kernel) ||
      !readNumbers(b, "strides", rank, 1, 1, strides) ||
      !readNumbers(b, "pads", 2 * rank, 0, 0, pads))
    return std::nullopt;
  Extents shape(pooled.take_front(2));
  for (size_t d = 0; d < rank; ++d)
    shape.push_back((pooled[d + 2] - 1) * strides[d] + kernel[d] - pads[d] - pads[rank + d]);
  return shape;
}

/// Zeros, and the elements at the numbers that they have in the pooled tensor, which the attributes
/// give; it may be a corner of a larger result.
void unpool(B &b) {
  Value x = b.get(0), numbers = b.get(1);
  if (!x || !numbers)
    return;
  if (b.rankOf(x) < 3 || tensorTypeOf(x).getNumDynamicDims() || b.isFloat(numbers) ||
      b.shapeOf(x) != b.shapeOf(numbers))
    return (void)b.errorOfOpenBatch(
        "takes [batch, channels, spatial...] of known extents, and the number of "
        "each element");
  auto shape = findPooled(b, b.shapeOf(x));
  if (!shape)
    return;
  Extents result = *shape;
  if (b.has(2)) {
    auto given = readExtents(b, 2, "output_shape");
    if (!given)
      return;
    result = *given;
  }
  int64_t count = 1;
  bool fits = result.size() == shape->size();
  for (size_t d = 0; fits && d < shape->size(); ++d) {
    fits = (*shape)[d] >= 1 && (*shape)[d] <= result[d] &&
           count <= kMostSpatial / std::max<int64_t>((*shape)[d], 1);
    count *= (*shape)[d];
  }
  if (!fits)
    return (void)b.error("gives the shape " + printShape(*shape) + ", not " + printShape(result));
  const int64_t elements = tensorTypeOf(x).getNumElements();
  Value zeros = broadcastTo(b, b.makeZero(elementTypeOf(x)), {count});
  Value y = scatterRows(b, zeros, b.makeReshape(numbers, {elements}), b.makeReshape(x, {elements}),
                        "none");
  if (!y)
    return;
  y = b.makeReshape(y, *shape);
  for (size_t d = 2; d < result.size(); ++d)
    if (result[d] > (*shape)[d])
      y = b.make<PadOp>(y, int64_t(d), int64_t(0), result[d] - (*shape)[d], llvm::APFloat(0.0));
  b.setResult(0, y, b.getType(0));
}

constexpr OpEntry kTable[] = {
    {"Col2Im", 18, sumBlocks},
    {"MaxUnpool", 9, unpool},
};

} // namespace

llvm::ArrayRef<OpEntry> getUnpoolingOps() { return kTable; }

} // namespace mpc::onnx
