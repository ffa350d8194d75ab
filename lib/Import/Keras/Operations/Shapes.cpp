// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Operations that change shapes: reshape, transpose, join, repeat. The batch stays first.
#include "lib/Import/Common/BatchAxis.h"
#include "lib/Import/Keras/Operations/OperationBuilder.h"

namespace mpc::keras {
namespace {

using mlir::Value;
using B = OperationBuilder;

constexpr int64_t kBatch = mlir::ShapedType::kDynamic;

/// Elements per sample.
int64_t elementsOf(llvm::ArrayRef<int64_t> shape) {
  int64_t count = 1;
  for (int64_t extent : shape)
    count *= mlir::ShapedType::isDynamic(extent) ? 1 : extent;
  return count;
}

/// The target shape may hold one -1, and of a tensor with a batch one more, as layers write it. The
/// first -1 then is the batch, alone or with other elements.
Value reshape(B &b) {
  Value x = b.getValue(0, "x");
  std::optional<llvm::SmallVector<int64_t>> target = b.getIntegers(1, "newshape");
  if (!x || !target)
    return x && !b.hasFailed() ? b.error("'Reshape' needs a shape") : Value();
  const bool hasBatch = tensorTypeOf(x).getNumDynamicDims() > 0;
  const int64_t total = elementsOf(b.shapeOf(x));
  llvm::SmallVector<int64_t> shape(*target);
  int64_t known = 1;
  for (int64_t extent : shape)
    if (extent < -1 || (extent > 0 && __builtin_mul_overflow(known, extent, &known)))
      return b.error("'Reshape' has a target shape that is not readable");
    else if (extent == 0)
      known = 0;
  auto unknown = llvm::find(shape, -1);
  if (llvm::count(shape, -1) > (hasBatch ? 2 : 1))
    return b.error("'Reshape' has more than one -1");
  if (hasBatch) {
    if (unknown == shape.end() || (unknown != shape.begin() && !b.movesBatch))
      return b.error("'Reshape' must keep the batch as the first dimension: (-1, ...)");
    *unknown = kBatch;
    unknown = std::find(unknown + 1, shape.end(), -1);
    if (unknown == shape.end() && (b.movesBatch || known == total))
      return b.makeReshape(x, shape);
    if (unknown == shape.end())
      return b.error("'Reshape' must keep the batch as the first dimension, with the " +
                     llvm::Twine(total) + " elements of a sample behind it");
  }
  if (unknown != shape.end()) {
    if (known == 0 || total % known != 0)
      return b.error(hasBatch ? "'Reshape' to a shape that does not hold the elements of a sample"
                              : "'Reshape' to a shape that does not hold the elements");
    *unknown = total / known;
  } else if (known != total) {
    return b.error("'Reshape' to a shape of another number of elements");
  }
  return b.makeReshape(x, shape);
}

Value permute(B &b, Value x, llvm::ArrayRef<int64_t> permutation) {
  if (!b.movesBatch && tensorTypeOf(x).getNumDynamicDims() && permutation.front() != 0)
    return b.error("'" + b.layer.className + "' must leave the batch as the first dimension");
  return b.make<TransposeOp>(x, permutation);
}

Value transpose(B &b) {
  Value x = b.getValue(0, "x");
  if (!x)
    return {};
  const int64_t rank = b.rankOf(x);
  llvm::SmallVector<int64_t> axes = b.getIntegers(1, "axes").value_or(
      llvm::to_vector(llvm::reverse(llvm::seq<int64_t>(0, rank))));
  llvm::SmallVector<int64_t> sorted;
  for (int64_t &axis : axes) {
    axis = axis < 0 ? axis + rank : axis;
    sorted.push_back(axis);
  }
  llvm::sort(sorted);
  if (sorted != llvm::to_vector(llvm::seq<int64_t>(0, rank)))
    return b.error("'axes' of 'Transpose' must name each dimension once");
  return rank == 0 ? x : permute(b, x, axes);
}

Value swapAxes(B &b) {
  Value x = b.getValue(0, "x");
  if (!x)
    return {};
  std::optional<int64_t> first = b.getAxis(1, "axis1", 0, x), second = b.getAxis(2, "axis2", 0, x);
  if (!first || !second)
    return {};
  llvm::SmallVector<int64_t> permutation = llvm::to_vector(llvm::seq<int64_t>(0, b.rankOf(x)));
  std::swap(permutation[*first], permutation[*second]);
  return permute(b, x, permutation);
}

Value moveAxis(B &b) {
  Value x = b.getValue(0, "x");
  std::optional<llvm::SmallVector<int64_t>> from = b.getIntegers(1, "source"),
                                            to = b.getIntegers(2, "destination");
  if (!x || !from || !to || from->size() != to->size())
    return x ? b.error("'Moveaxis' needs as many destinations as sources") : Value();
  const int64_t rank = b.rankOf(x);
  llvm::SmallVector<int64_t> permutation(rank, -1);
  for (auto [source, destination] : llvm::zip_equal(*from, *to)) {
    source = source < 0 ? source + rank : source;
    destination = destination < 0 ? destination + rank : destination;
    if (source < 0 || source >= rank || destination < 0 || destination >= rank ||
        permutation[destination] != -1)
      return b.error("'Moveaxis' names an axis twice or outside of the tensor");
    permutation[destination] = source;
  }
  int64_t next = 0;
  for (int64_t &place : permutation)
    if (place == -1) {
      while (llvm::is_contained(*from, next))
        ++next;
      place = next++;
    }
  return permute(b, x, permutation);
}

Value expandDims(B &b) {
  Value x = b.getValue(0, "x");
  std::optional<llvm::SmallVector<int64_t>> axes = b.getIntegers(1, "axis");
  if (!x || !axes)
    return x && !b.hasFailed() ? b.error("'ExpandDims' needs an axis") : Value();
  llvm::SmallVector<int64_t> shape(b.shapeOf(x));
  const int64_t rank = int64_t(shape.size() + axes->size());
  for (int64_t &axis : *axes) {
    axis = axis < 0 ? axis + rank : axis;
    if (axis < 0 || axis >= rank || (axis == 0 && tensorTypeOf(x).getNumDynamicDims()))
      return b.error("'ExpandDims' at an axis before the batch or outside of the tensor");
  }
  llvm::sort(*axes);
  for (int64_t axis : *axes)
    shape.insert(shape.begin() + std::min<int64_t>(axis, int64_t(shape.size())), 1);
  return b.makeReshape(x, shape);
}

Value squeeze(B &b) {
  Value x = b.getValue(0, "x");
  if (!x)
    return {};
  llvm::SmallVector<int64_t> kept, axes;
  const int64_t rank = b.rankOf(x);
  if (auto named = b.getIntegers(1, "axis"))
    axes = *named;
  else
    for (int64_t d = 0; d < rank; ++d)
      if (b.shapeOf(x)[d] == 1)
        axes.push_back(d);
  for (int64_t &axis : axes) {
    axis = axis < 0 ? axis + rank : axis;
    if (axis < 0 || axis >= rank || b.shapeOf(x)[axis] != 1)
      return b.error("'Squeeze' needs axes of extent 1");
  }
  for (int64_t d = 0; d < rank; ++d)
    if (!llvm::is_contained(axes, d))
      kept.push_back(b.shapeOf(x)[d]);
  return b.makeReshape(x, kept);
}

// ---- Join ---------------------------------------------------------------------------------------

/// Operands that join along `axis`, in one dtype; a tensor without the others' batch is repeated to
/// it.
llvm::SmallVector<Value> getParts(B &b) {
  llvm::SmallVector<Operand> operands = b.getOperands(0, "xs");
  llvm::SmallVector<Value> values;
  if (operands.empty() || !b.promote(operands))
    return values;
  // Among floating tensors concatenation promotes as arithmetic does.
  llvm::SmallVector<Value> floats;
  for (const Operand &operand : operands)
    if (operand.isFloat())
      floats.push_back(operand.value);
  for (const Operand &operand : operands)
    values.push_back(floats.size() > 1 ? b.makeCastLike(operand.value, floats) : operand.value);
  return values;
}

Value join(B &b, llvm::ArrayRef<Value> values, int64_t axis) {
  llvm::SmallVector<int64_t> expected(b.shapeOf(values.front()));
  for (Value value : values) {
    llvm::SmallVector<int64_t> shape(b.shapeOf(value));
    if (shape.size() == expected.size())
      shape[axis] = expected[axis];
    if (shape != expected)
      return b.error("'" + b.layer.className + "' joins tensors that differ in another axis");
  }
  return values.size() == 1 ? values.front()
                            : b.make<ConcatenateOp>(mlir::ValueRange(values), axis);
}

Value concatenateAlong(B &b, int64_t otherwise) {
  llvm::SmallVector<Value> values = getParts(b);
  if (values.empty())
    return {};
  std::optional<int64_t> axis = b.getAxis(1, "axis", otherwise, values.front());
  return axis ? join(b, values, *axis) : Value();
}
Value concatenate(B &b) { return concatenateAlong(b, -1); }
/// hstack joins along the second axis.
Value hstack(B &b) { return concatenateAlong(b, 1); }

/// Two tensors along an axis.
Value append(B &b) {
  Operand pair[2] = {b.getOperand(0, "x1"), b.getOperand(1, "x2")};
  if (b.hasFailed() || !b.promote(pair))
    return {};
  if (!b.findArgument(kKeywordOnly, "axis"))
    return b.error("'Append' without an axis flattens the batch; name one");
  std::optional<int64_t> axis = b.getAxis(kKeywordOnly, "axis", -1, pair[0].value);
  return axis ? join(b, {pair[0].value, pair[1].value}, *axis) : Value();
}

Value stack(B &b) {
  llvm::SmallVector<Value> values = getParts(b);
  if (values.empty())
    return {};
  std::optional<int64_t> axis =
      b.getAxis(b.getInteger(1, "axis").value_or(0), b.rankOf(values.front()) + 1);
  if (!axis)
    return {};
  for (Value &value : values) {
    llvm::SmallVector<int64_t> shape(b.shapeOf(value));
    shape.insert(shape.begin() + *axis, 1);
    value = b.makeReshape(value, shape);
  }
  return join(b, values, *axis);
}

/// Along the third axis, which matrices without it get.
Value dstack(B &b) {
  llvm::SmallVector<Value> values = getParts(b);
  if (values.empty())
    return {};
  for (Value &value : values) {
    llvm::SmallVector<int64_t> shape(b.shapeOf(value));
    if (shape.size() < 2)
      return b.error("'Dstack' of tensors with less than two dimensions is not supported");
    if (shape.size() == 2)
      value = b.makeReshape(value, {shape[0], shape[1], 1});
  }
  return join(b, values, 2);
}

// ---- Repeat -------------------------------------------------------------------------------------

Value repeat(B &b) {
  Value x = b.getValue(0, "x");
  std::optional<llvm::SmallVector<int64_t>> repeats = b.getIntegers(1, "repeats");
  if (!x || !repeats)
    return {};
  if (!b.findArgument(2, "axis"))
    return b.error("'Repeat' without an axis flattens the batch; name one");
  std::optional<int64_t> axis = b.getAxis(2, "axis", 1, x);
  if (!axis)
    return {};
  const int64_t extent = b.shapeOf(x)[*axis];
  if (repeats->size() != 1 && int64_t(repeats->size()) != extent)
    return b.error("'Repeat' has numbers for another extent");
  llvm::SmallVector<int64_t> places;
  for (int64_t place = 0; place < extent; ++place) {
    const int64_t count = (*repeats)[repeats->size() == 1 ? 0 : place];
    if (count < 0 || int64_t(places.size()) + count > (int64_t(1) << 20))
      return b.error("'Repeat' repeats a negative number of times, or more than 2^20 times");
    places.append(count, place);
  }
  return gatherAlong(b, x, *axis, places);
}

Value tile(B &b) {
  Value x = b.getValue(0, "x");
  std::optional<llvm::SmallVector<int64_t>> repeats = b.getIntegers(1, "repeats");
  if (!x || !repeats)
    return {};
  llvm::SmallVector<int64_t> shape(b.shapeOf(x));
  if (repeats->size() > shape.size())
    return b.error("'Tile' that adds dimensions before the batch is not supported");
  repeats->insert(repeats->begin(), shape.size() - repeats->size(), 1);
  for (const auto &[axis, count] : llvm::enumerate(*repeats)) {
    if (count == 1)
      continue;
    if (count < 1 || count > 65536 || mlir::ShapedType::isDynamic(shape[axis]))
      return b.error("'Tile' of the batch, or with a number outside [1, 65536]");
    llvm::SmallVector<Value> copies(count, x);
    x = b.make<ConcatenateOp>(mlir::ValueRange(copies), int64_t(axis));
  }
  return x;
}

Value flip(B &b) {
  Value x = b.getValue(0, "x");
  std::optional<llvm::SmallVector<int64_t>> axes =
      x ? b.getAxes(1, "axis", x, /*acrossSamples=*/false) : std::nullopt;
  if (!axes)
    return {};
  for (int64_t axis : *axes)
    x = gatherAlong(b, x, axis,
                    llvm::to_vector(llvm::reverse(llvm::seq<int64_t>(0, b.shapeOf(x)[axis]))));
  return x;
}

/// The order of the columns turned round.
Value flipColumns(B &b) {
  Value x = b.getValue(0, "x");
  if (!x || b.rankOf(x) < 2)
    return x ? b.error("'Fliplr' needs two dimensions") : x;
  return gatherAlong(b, x, 1,
                     llvm::to_vector(llvm::reverse(llvm::seq<int64_t>(0, b.shapeOf(x)[1]))));
}

/// Turns the plane of two axes by quarters: from the first axis towards the second.
Value rotate(B &b) {
  Value x = b.getValue(0, "array");
  if (!x)
    return {};
  llvm::SmallVector<int64_t> axes =
      b.getIntegers(2, "axes").value_or(llvm::SmallVector<int64_t>{0, 1});
  const int64_t quarters = ((b.getInteger(1, "k").value_or(1) % 4) + 4) % 4;
  if (axes.size() != 2)
    return b.error("'axes' of 'Rot90' must be two");
  std::optional<int64_t> first = b.getAxis(axes[0], b.rankOf(x)),
                         second = b.getAxis(axes[1], b.rankOf(x));
  if (!first || !second || *first == *second)
    return b.error("'Rot90' needs two axes");
  llvm::SmallVector<int64_t> exchanged = llvm::to_vector(llvm::seq<int64_t>(0, b.rankOf(x)));
  std::swap(exchanged[*first], exchanged[*second]);
  for (int64_t quarter = 0; quarter < quarters; ++quarter) {
    const int64_t extent = b.shapeOf(x)[*second];
    Value mirrored =
        gatherAlong(b, x, *second, llvm::to_vector(llvm::reverse(llvm::seq<int64_t>(0, extent))));
    x = b.make<TransposeOp>(mirrored, exchanged);
  }
  return x;
}

Value roll(B &b) {
  Value x = b.getValue(0, "x");
  std::optional<llvm::SmallVector<int64_t>> shifts = b.getIntegers(1, "shift"),
                                            axes = b.getIntegers(2, "axis");
  if (!x || !shifts || b.hasFailed())
    return {};
  if (!axes)
    return b.error("'Roll' without an axis moves elements across samples; name one");
  if (shifts->size() == 1)
    shifts->assign(axes->size(), shifts->front());
  if (shifts->size() != axes->size())
    return b.error("'Roll' has other numbers of shifts and axes");
  for (auto [shift, written] : llvm::zip_equal(*shifts, *axes)) {
    std::optional<int64_t> axis = resolveAxis(b, written, x);
    if (!axis)
      return {};
    const int64_t extent = b.shapeOf(x)[*axis];
    const int64_t by = extent ? ((shift % extent) + extent) % extent : 0;
    if (by == 0)
      continue;
    llvm::SmallVector<Value> parts = {b.make<SliceOp>(x, *axis, extent - by, by),
                                      b.make<SliceOp>(x, *axis, 0, extent - by)};
    x = b.make<ConcatenateOp>(mlir::ValueRange(parts), *axis);
  }
  return x;
}

Value broadcastTo(B &b) {
  Value x = b.getValue(0, "x");
  std::optional<llvm::SmallVector<int64_t>> target = b.getIntegers(1, "shape");
  if (!x || !target)
    return {};
  const int64_t missing = int64_t(target->size()) - b.rankOf(x);
  if (missing < 0 || (missing > 0 && tensorTypeOf(x).getNumDynamicDims()))
    return b.error("'BroadcastTo' would put dimensions before the batch");
  llvm::SmallVector<int64_t> shape(b.shapeOf(x));
  shape.insert(shape.begin(), missing, 1);
  x = b.makeReshape(x, shape);
  for (const auto &[axis, extent] : llvm::enumerate(*target)) {
    if (extent == -1 || extent == shape[axis])
      continue;
    if (shape[axis] != 1 || extent < 0 || extent > 65536)
      return b.error("'BroadcastTo' to a shape that the tensor does not repeat to");
    x = gatherAlong(b, x, int64_t(axis), llvm::SmallVector<int64_t>(extent, 0));
  }
  return x;
}

constexpr OperationEntry kShapeOperations[] = {
    {"Append", append},
    {"BroadcastTo", broadcastTo},
    {"Concatenate", concatenate},
    {"Dstack", dstack},
    {"ExpandDims", expandDims},
    {"Flip", flip},
    {"Fliplr", flipColumns},
    {"Hstack", hstack},
    {"Moveaxis", moveAxis},
    {"Pad", pad},
    {"Rearrange", rearrange},
    {"Repeat", repeat},
    {"Reshape", reshape},
    {"Roll", roll},
    {"Rot90", rotate},
    {"Squeeze", squeeze},
    {"Stack", stack},
    {"Swapaxes", swapAxes},
    {"Tile", tile},
    {"Transpose", transpose},
};

} // namespace

llvm::ArrayRef<OperationEntry> shapeOperations() { return kShapeOperations; }

} // namespace mpc::keras
