// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Operations that give the elements of a tensor another shape or order.
#include "lib/Import/ONNX/NodeBuilder.h"
#include "lib/Import/ONNX/OpTable.h"
#include "lib/Import/ONNX/Ops/Axes.h"
#include "lib/Import/ONNX/Ops/Broadcasts.h"

#include "lib/Import/Common/Shape.h"

#include <numeric>

namespace mpc::onnx {
namespace {

using mlir::Value;
using B = NodeBuilder;
using Extents = llvm::SmallVector<int64_t>;

bool isOpen(int64_t extent) { return mlir::ShapedType::isDynamic(extent); }

/// An input from opset `since` on, an attribute before; nothing after an error. Empty where there
/// is neither.
std::optional<Extents> readList(B &b, unsigned input, llvm::StringRef name, int64_t since) {
  if (b.opset < since)
    return b.attributes.getIntegers(name);
  return b.has(input) ? b.getIntegers(input, name) : Extents();
}

/// The elements of a shape but for the open batch.
int64_t countElements(llvm::ArrayRef<int64_t> shape) {
  int64_t count = 1;
  for (int64_t extent : shape)
    if (!isOpen(extent))
      count *= extent;
  return count;
}

// ---- Shapes -------------------------------------------------------------------------------------

void refuseShape(B &b, llvm::ArrayRef<int64_t> own, llvm::ArrayRef<int64_t> asked) {
  const std::string message = "the input has the shape " + printShape(own) +
                              ", which does not fit the shape " + printShape(asked);
  if (llvm::is_contained(own, mlir::ShapedType::kDynamic))
    b.errorOfOpenBatch(message);
  else
    b.error(message);
}

/// 0 is the input's extent, -1 what is left over, which may be the open batch.
void reshape(B &b) {
  Value x = b.get(0);
  if (!x)
    return;
  int64_t batches = 1;
  std::optional<Extents> shape = b.opset < 5       ? b.attributes.getIntegers("shape")
                                 : b.getLiteral(1) ? b.getExtents(1, "the shape", &batches)
                                                   : b.takeStatedShape(1, "the shape");
  if (!shape)
    return;
  llvm::ArrayRef<int64_t> own = b.shapeOf(x);
  const bool allowsZero = b.attributes.getFlag("allowzero");
  std::optional<size_t> rest;
  for (const auto &[axis, extent] : llvm::enumerate(*shape)) {
    if (extent == 0 && !allowsZero) {
      if (axis >= own.size())
        return (void)b.error("the shape takes extent " + llvm::Twine(axis) + " of an input of " +
                             llvm::Twine(own.size()) + " dimensions");
      extent = own[axis];
      if (isOpen(extent))
        batches = b.getBatchFactor(0);
    } else if (extent == -1) {
      if (rest)
        return (void)b.error("the shape has -1 twice");
      rest = axis;
    } else if (extent < 0 && !isOpen(extent)) {
      return (void)b.error("the shape has the extent " + llvm::Twine(extent));
    }
  }
  const bool hasOpen = llvm::is_contained(own, mlir::ShapedType::kDynamic);
  // An open dimension may be several batches.
  const int64_t elements = countElements(own) * b.getBatchFactor(0);
  if (rest) {
    (*shape)[*rest] = 1;
    const bool isBatch = hasOpen && !llvm::is_contained(*shape, mlir::ShapedType::kDynamic);
    const int64_t others = countElements(*shape) * (isBatch ? 1 : batches);
    if (others == 0 || elements % others != 0)
      return refuseShape(b, own, *shape);
    (*shape)[*rest] = isBatch ? mlir::ShapedType::kDynamic : elements / others;
    if (isBatch)
      batches = elements / others;
  }
  if (hasOpen != llvm::is_contained(*shape, mlir::ShapedType::kDynamic) ||
      countElements(*shape) * (hasOpen ? batches : 1) != elements)
    return refuseShape(b, own, *shape);
  b.setResult(0, b.makeReshape(x, *shape), b.getType(0));
}

/// Dimensions before `axis` become one, and those from it on.
void flatten(B &b) {
  Value x = b.get(0);
  if (!x)
    return;
  const int64_t rank = b.rankOf(x), axis = b.attributes.getInteger("axis", 1);
  if (axis < -rank || axis > rank)
    return (void)b.error("axis " + llvm::Twine(axis) + " is outside of the input");
  const size_t split = size_t(axis < 0 ? axis + rank : axis);
  llvm::ArrayRef<int64_t> shape = b.shapeOf(x);
  Extents flat{countElements(shape.take_front(split)), countElements(shape.drop_front(split))};
  const auto open = llvm::find_if(shape, isOpen);
  if (open != shape.end())
    flat[size_t(open - shape.begin()) < split ? 0 : 1] = mlir::ShapedType::kDynamic;
  b.setResult(0, b.makeReshape(x, flat), b.getType(0));
}

/// The dimensions of 1 that the file says the result has, where the axes are no constant; false
/// where they are one.
bool reshapeAsStated(B &b, Value x) {
  if (!x || b.opset < 13 || !b.has(1) || b.getLiteral(1))
    return false;
  if (auto shape = b.takeStatedShape(1, "the axes")) {
    if (countElements(*shape) == countElements(b.shapeOf(x)))
      b.setResult(0, b.makeReshape(x, *shape), b.getType(0));
    else
      b.error("the shape that the file states does not fit");
  }
  return true;
}

void squeeze(B &b) {
  Value x = b.get(0);
  if (reshapeAsStated(b, x))
    return;
  std::optional<Extents> axes = readList(b, 1, "axes", 13);
  if (!x || !axes)
    return;
  const bool isAll = b.opset < 13 ? !b.attributes.has("axes") : !b.has(1);
  auto resolved = b.resolveAxes(*axes, b.rankOf(x));
  if (!resolved)
    return;
  Extents shape;
  for (const auto &[axis, extent] : llvm::enumerate(b.shapeOf(x))) {
    const bool isNamed = llvm::is_contained(*resolved, int64_t(axis));
    if (isNamed && extent != 1)
      return (void)b.error("axis " + llvm::Twine(axis) + " of the shape " +
                           printShape(b.shapeOf(x)) + " is not 1");
    if (!(isAll ? extent == 1 : isNamed))
      shape.push_back(extent);
  }
  b.setResult(0, b.makeReshape(x, shape), b.getType(0));
}

void unsqueeze(B &b) {
  Value x = b.get(0);
  if (reshapeAsStated(b, x))
    return;
  std::optional<Extents> axes = readList(b, 1, "axes", 13);
  if (!x || !axes)
    return;
  auto resolved = b.resolveAxes(*axes, b.rankOf(x) + int64_t(axes->size()));
  if (!resolved)
    return;
  Extents shape(b.shapeOf(x));
  for (int64_t axis : *resolved)
    shape.insert(shape.begin() + axis, 1);
  b.setResult(0, b.makeReshape(x, shape), b.getType(0));
}

void transpose(B &b) {
  Value x = b.get(0);
  if (!x)
    return;
  const int64_t rank = b.rankOf(x);
  Extents order = b.attributes.getIntegers("perm");
  if (!b.attributes.has("perm")) {
    order = llvm::to_vector(llvm::seq<int64_t>(0, rank));
    std::reverse(order.begin(), order.end());
  }
  if (int64_t(order.size()) != rank)
    return (void)b.error("'perm' names " + llvm::Twine(order.size()) + " of " + llvm::Twine(rank) +
                         " dimensions");
  Extents sorted;
  for (int64_t &axis : order) {
    std::optional<int64_t> front = b.resolveAxis(axis, rank);
    if (!front)
      return;
    axis = *front;
  }
  if (!b.resolveAxes(order, rank))
    return;
  b.setResult(0, llvm::is_sorted(order) ? x : b.make<TransposeOp>(x, order), b.getType(0));
}

// ---- Parts --------------------------------------------------------------------------------------

void concatenate(B &b) {
  llvm::SmallVector<Value> parts;
  // Tensors without elements add nothing, unless all are.
  const auto isEmpty = [&](unsigned i) { return llvm::is_contained(b.getShape(i), 0); };
  bool isNothing = true;
  for (unsigned i = 0; i < b.getInputCount(); ++i)
    isNothing &= isEmpty(i);
  for (unsigned i = 0; i < b.getInputCount(); ++i)
    if (!isNothing && isEmpty(i))
      continue;
    else if (Value part = b.get(i))
      parts.push_back(part);
    else
      return;
  if (parts.empty())
    return (void)b.error("has no inputs");
  const int64_t rank = b.rankOf(parts.front());
  std::optional<int64_t> axis = b.resolveAxis(b.attributes.getInteger("axis", 1), rank);
  if (!axis)
    return;
  for (Value part : parts) {
    bool fits = b.rankOf(part) == rank && elementTypeOf(part) == elementTypeOf(parts.front());
    for (int64_t d = 0; fits && d < rank; ++d)
      fits = d == *axis ? !isOpen(b.shapeOf(part)[d])
                        : b.shapeOf(part)[d] == b.shapeOf(parts.front())[d];
    if (!fits)
      return (void)b.error("the shapes " + printShape(b.shapeOf(parts.front())) + " and " +
                           printShape(b.shapeOf(part)) + " do not fit along axis " +
                           llvm::Twine(*axis));
  }
  b.setResult(0, parts.size() == 1 ? parts.front() : b.make<ConcatenateOp>(parts, *axis),
              b.getType(0));
}

/// The sizes are given, or those of equal parts, of which the last may be smaller.
void split(B &b) {
  Value x = b.get(0);
  if (!x)
    return;
  std::optional<int64_t> axis = b.resolveAxis(b.attributes.getInteger("axis", 0), b.rankOf(x));
  if (!axis)
    return;
  std::optional<Extents> sizes;
  if (b.opset >= 13 && b.has(1) && !b.getLiteral(1)) {
    sizes = Extents();
    for (unsigned i = 0; i < b.node.outputs.size(); ++i) {
      auto stated = b.takeStatedShape(1, "the sizes", i);
      if (!stated || int64_t(stated->size()) != b.rankOf(x))
        return;
      sizes->push_back((*stated)[*axis]);
    }
  } else {
    sizes = readList(b, 1, "split", 13);
  }
  if (!sizes)
    return;
  const int64_t extent = b.shapeOf(x)[*axis];
  if (isOpen(extent))
    return (void)b.errorOfOpenBatch("the axis is the open batch");
  const int64_t parts = int64_t(b.node.outputs.size());
  if (b.attributes.getInteger("num_outputs", parts) != parts)
    return (void)b.error("num_outputs is not the number of its outputs, " + llvm::Twine(parts));
  if (sizes->empty()) {
    const int64_t size = (extent + parts - 1) / std::max<int64_t>(parts, 1);
    for (int64_t i = 0; i < parts; ++i)
      sizes->push_back(std::clamp<int64_t>(extent - i * size, 0, size));
  }
  if (int64_t(sizes->size()) != parts)
    return (void)b.error("has " + llvm::Twine(parts) + " outputs for " +
                         llvm::Twine(sizes->size()) + " parts");
  int64_t first = 0;
  for (const auto &[i, size] : llvm::enumerate(*sizes)) {
    if (size < 0 || size > extent - first)
      return (void)b.error("the parts are larger than the " + llvm::Twine(extent) + " elements");
    b.setResult(unsigned(i), sliceAxis(b, x, *axis, first, 1, size), b.getType(0));
    first += size;
  }
  if (first != extent)
    b.error("the parts have " + llvm::Twine(first) + " of " + llvm::Twine(extent) + " elements");
}

/// Bounds count from the end where they are negative, and are clamped.
void slice(B &b) {
  Value x = b.get(0);
  if (!x)
    return;
  std::optional<Extents> starts = readList(b, 1, "starts", 10), ends, axes, steps = Extents();
  if (starts)
    ends = b.opset < 10 ? b.attributes.getIntegers("ends") : b.getExtents(2, "ends");
  if (ends)
    axes = readList(b, 3, "axes", 10);
  if (axes && b.opset >= 10)
    steps = readList(b, 4, "steps", 10);
  if (!starts || !ends || !axes || !steps)
    return;
  if (axes->empty())
    axes = llvm::to_vector(llvm::seq<int64_t>(0, int64_t(starts->size())));
  if (steps->empty())
    steps->assign(starts->size(), 1);
  if (starts->size() != ends->size() || starts->size() != axes->size() ||
      starts->size() != steps->size())
    return (void)b.error("starts, ends, axes and steps differ in number");
  for (size_t i = 0; i < axes->size(); ++i) {
    std::optional<int64_t> axis = b.resolveAxis((*axes)[i], b.rankOf(x));
    if (!axis)
      return;
    const int64_t extent = b.shapeOf(x)[*axis], step = (*steps)[i];
    int64_t first = (*starts)[i], end = (*ends)[i];
    if (isOpen(extent)) {
      // Only the whole batch is known to be there.
      if (first == 0 && step == 1 && (end >= INT32_MAX || isOpen(end)))
        continue;
      return (void)b.errorOfOpenBatch("slices the open batch");
    }
    if (step == 0 || isOpen(end))
      return (void)b.error(step == 0 ? "a step is 0" : "an end is the open batch");
    const int64_t lowest = step > 0 ? 0 : -1, highest = step > 0 ? extent : extent - 1;
    auto clampBound = [&](int64_t bound) {
      if (bound < 0)
        bound = bound < -extent ? -1 - (step > 0 ? -1 : 0) : bound + extent;
      return std::clamp(bound, lowest, highest);
    };
    first = clampBound(first);
    end = clampBound(end);
    const int64_t reach = step > 0 ? end - first : first - end;
    const uint64_t size = step > 0 ? uint64_t(step) : -uint64_t(step);
    const int64_t count = reach <= 0 ? 0 : int64_t((uint64_t(reach) + size - 1) / size);
    x = count == 0 ? b.make<SliceOp>(x, *axis, 0, 0)
                   : sliceAxis(b, x, *axis, first, count == 1 ? 1 : step, count);
  }
  b.setResult(0, x, b.getType(0));
}

// ---- Repetition ---------------------------------------------------------------------------------

void expand(B &b) {
  Value x = b.get(0);
  std::optional<Extents> shape =
      b.getLiteral(1) ? b.getExtents(1, "the shape") : b.takeStatedShape(1, "the shape");
  if (x && shape)
    b.setResult(0, broadcastTo(b, x, *shape), b.getType(0));
}

void tile(B &b) {
  Value x = b.get(0);
  if (!x || !b.has(1))
    return;
  std::optional<Extents> repeats;
  if (b.getLiteral(1)) {
    repeats = b.getIntegers(1, "the repeats");
  } else if (auto stated = b.takeStatedShape(1, "the repeats")) {
    repeats = Extents();
    for (const auto &[extent, own] : llvm::zip(*stated, b.shapeOf(x)))
      repeats->push_back(isOpen(extent) || isOpen(own) ? 1 : extent / own);
  }
  if (!repeats)
    return;
  if (int64_t(repeats->size()) != b.rankOf(x))
    return (void)b.error("needs one number of repeats for each dimension");
  llvm::SmallVector<ResampleTable> tables;
  for (const auto &[axis, times] : llvm::enumerate(*repeats)) {
    const int64_t extent = b.shapeOf(x)[axis];
    if (times == 1)
      continue;
    if (times == 0 && !isOpen(extent)) {
      x = b.make<SliceOp>(x, int64_t(axis), 0, 0);
      continue;
    }
    if (isOpen(extent) || times < 0 || extent > (int64_t(1) << 31) / times)
      return (void)b.error("cannot repeat " + llvm::Twine(extent) + " elements " +
                           llvm::Twine(times) + " times");
    ResampleTable table;
    table.axis = int64_t(axis);
    for (int64_t i = 0; i < extent * times; ++i)
      table.indices.push_back(i % extent);
    tables.push_back(std::move(table));
  }
  b.setResult(0, resample(b, x, tables), b.getType(0));
}

// ---- Indices ------------------------------------------------------------------------------------

void gather(B &b) {
  Value x = b.get(0);
  if (!x || !b.has(1))
    return;
  std::optional<int64_t> axis = b.resolveAxis(b.attributes.getInteger("axis", 0), b.rankOf(x));
  if (!axis)
    return;
  const int64_t extent = b.shapeOf(x)[*axis];
  if (isOpen(extent))
    return (void)b.errorOfOpenBatch("the axis is the open batch");
  // One known element is a slice.
  if (const Literal *literal = b.getLiteral(1);
      literal && literal->isInteger() && !literal->hasBatch && literal->tensor.size() == 1) {
    const int64_t index = literal->tensor.integers.front();
    if (index < -extent || index >= extent)
      return (void)b.error("index " + llvm::Twine(index) + " is outside of " + llvm::Twine(extent) +
                           " elements");
    Value row = b.make<SliceOp>(x, *axis, index < 0 ? index + extent : index, 1);
    Extents shape(b.shapeOf(x).take_front(*axis));
    llvm::append_range(shape, literal->tensor.shape);
    llvm::append_range(shape, b.shapeOf(x).drop_front(*axis + 1));
    return b.setResult(0, b.makeReshape(row, shape), b.getType(0));
  }
  Value indices = b.get(1);
  if (!indices)
    return;
  const bool isTwice = llvm::is_contained(b.shapeOf(x), mlir::ShapedType::kDynamic) &&
                       llvm::is_contained(b.shapeOf(indices), mlir::ShapedType::kDynamic);
  if (b.isFloat(indices))
    return (void)b.error("indices must be integers");
  if (isTwice)
    return (void)b.errorOfOpenBatch("table and indices both have the open batch");
  b.setResult(0, b.make<GatherOp>(x, indices, *axis), b.getType(0));
}

// ---- Blocks -------------------------------------------------------------------------------------

/// The extents of an image [batch, channels, height, width] and the block; nothing after an error.
std::optional<std::pair<Value, int64_t>> readBlocks(B &b) {
  Value x = b.get(0);
  const int64_t block = b.attributes.getInteger("blocksize", 0);
  if (!x)
    return std::nullopt;
  if (b.rankOf(x) != 4 || block < 1 || block > (1 << 15)) {
    b.error("takes images [batch, channels, height, width] and a blocksize");
    return std::nullopt;
  }
  return std::make_pair(x, block);
}

void depthToSpace(B &b) {
  auto read = readBlocks(b);
  if (!read)
    return;
  auto [x, block] = *read;
  llvm::ArrayRef<int64_t> s = b.shapeOf(x);
  const int64_t batch = s[0], channels = s[1] / (block * block), height = s[2], width = s[3];
  if (channels * block * block != s[1])
    return (void)b.error("the channels are no multiple of the block's elements");
  const bool isColumnFirst = b.attributes.getText("mode", "DCR") == "CRD";
  Value blocks = isColumnFirst ? b.makeReshape(x, {batch, channels, block, block, height, width})
                               : b.makeReshape(x, {batch, block, block, channels, height, width});
  const Extents order = isColumnFirst ? Extents{0, 1, 4, 2, 5, 3} : Extents{0, 3, 4, 1, 5, 2};
  b.setResult(0, b.makeReshape(b.make<TransposeOp>(blocks, order),
                               {batch, channels, height * block, width * block}));
}

void spaceToDepth(B &b) {
  auto read = readBlocks(b);
  if (!read)
    return;
  auto [x, block] = *read;
  llvm::ArrayRef<int64_t> s = b.shapeOf(x);
  const int64_t batch = s[0], channels = s[1], height = s[2] / block, width = s[3] / block;
  if (height * block != s[2] || width * block != s[3])
    return (void)b.error("height and width are no multiples of the block");
  Value blocks = b.makeReshape(x, {batch, channels, height, block, width, block});
  const bool isColumnFirst = b.attributes.getText("mode", "DCR") == "CRD";
  const Extents order = isColumnFirst ? Extents{0, 1, 3, 5, 2, 4} : Extents{0, 3, 5, 1, 2, 4};
  b.setResult(0, b.makeReshape(b.make<TransposeOp>(blocks, order),
                               {batch, channels * block * block, height, width}));
}

constexpr OpEntry kTable[] = {
    {"Concat", 1, concatenate, nullptr, OpenBatch::moved},
    {"DepthToSpace", 1, depthToSpace},
    {"Expand", 8, expand, nullptr, OpenBatch::moved},
    {"Flatten", 1, flatten, nullptr, OpenBatch::moved},
    {"Gather", 1, gather, nullptr, OpenBatch::moved},
    {"Reshape", 1, reshape, nullptr, OpenBatch::moved},
    {"Slice", 1, slice, nullptr, OpenBatch::moved},
    {"SpaceToDepth", 1, spaceToDepth},
    {"Split", 1, split, nullptr, OpenBatch::moved},
    {"Squeeze", 1, squeeze, nullptr, OpenBatch::moved},
    {"Tile", 6, tile, nullptr, OpenBatch::moved},
    {"Transpose", 1, transpose, nullptr, OpenBatch::moved},
    {"Unsqueeze", 1, unsqueeze, nullptr, OpenBatch::moved},
};

} // namespace

llvm::ArrayRef<OpEntry> getMovementOps() { return kTable; }

} // namespace mpc::onnx
