// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Operations that pick elements: subscripts, slices, take, one_hot, triangles.
#include "lib/Import/Keras/Operations/OperationBuilder.h"

#include "lib/Import/Common/PositionMasks.h"
#include "lib/Import/Common/Shape.h"
#include "lib/Import/Keras/Dtype.h"

namespace mpc::keras {
namespace {

using mlir::Value;
using B = OperationBuilder;

/// One entry of a subscript.
struct Subscript {
  enum class Kind { Place, Slice, NewAxis, Ellipsis } kind;
  std::optional<int64_t> start, stop;
  int64_t step = 1;
};

std::optional<Subscript> readSubscript(const Argument &argument) {
  if (argument.kind != Argument::Kind::Constant)
    return std::nullopt;
  const llvm::json::Value &value = argument.constant;
  if (value.kind() == llvm::json::Value::Null)
    return Subscript{Subscript::Kind::NewAxis, {}, {}};
  if (std::optional<int64_t> place = value.getAsInteger())
    return Subscript{Subscript::Kind::Place, place, {}};
  const llvm::json::Object *object = value.getAsObject();
  const llvm::StringRef name = object ? object->getString("class_name").value_or("") : "";
  if (name == "__ellipsis__")
    return Subscript{Subscript::Kind::Ellipsis, {}, {}};
  const llvm::json::Object *config = object ? object->getObject("config") : nullptr;
  if (name != "__slice__" || !config)
    return std::nullopt;
  Subscript slice{Subscript::Kind::Slice, config->getInteger("start"), config->getInteger("stop")};
  slice.step = config->getInteger("step").value_or(1);
  return slice.step == 0 ? std::nullopt : std::optional(slice);
}

/// The places that a Python slice takes of `extent` elements.
llvm::SmallVector<int64_t> placesOf(const Subscript &slice, int64_t extent) {
  const bool forward = slice.step > 0;
  auto bound = [&](std::optional<int64_t> written, int64_t otherwise) {
    if (!written)
      return otherwise;
    const int64_t place = *written < 0 ? *written + extent : *written;
    return forward ? std::clamp<int64_t>(place, 0, extent)
                   : std::clamp<int64_t>(place, -1, extent - 1);
  };
  const int64_t begin = bound(slice.start, forward ? 0 : extent - 1),
                end = bound(slice.stop, forward ? extent : -1);
  llvm::SmallVector<int64_t> places;
  for (int64_t place = begin; forward ? place < end : place > end; place += slice.step)
    places.push_back(place);
  return places;
}

/// Elements of one axis: a slice where the places follow each other, else a gather.
Value pick(B &b, Value x, int64_t axis, llvm::ArrayRef<int64_t> places) {
  bool contiguous = true;
  for (size_t i = 1; i < places.size(); ++i)
    contiguous &= places[i] == places[i - 1] + 1;
  if (contiguous && int64_t(places.size()) == b.shapeOf(x)[axis])
    return x;
  if (contiguous)
    return b.make<SliceOp>(x, axis, places.empty() ? 0 : places.front(), int64_t(places.size()));
  return b.make<GatherOp>(x, b.makeIndices(int64_t(places.size()), places), axis, int64_t(0));
}

Value getItem(B &b) {
  Value x = b.getValue(0, "x");
  const Argument *key = b.findArgument(1, "key");
  if (!x || !key)
    return x ? b.error("'GetItem' without a subscript") : Value();
  llvm::SmallVector<Subscript> subscripts;
  llvm::ArrayRef<Argument> items =
      key->kind == Argument::Kind::List ? llvm::ArrayRef(key->items) : llvm::ArrayRef(*key);
  int64_t named = 0, ellipses = 0;
  for (const Argument &item : items) {
    std::optional<Subscript> subscript = readSubscript(item);
    if (!subscript)
      return b.error("'GetItem' with a subscript that is neither an integer nor a slice is not "
                     "supported; use keras.ops.take");
    named += subscript->kind == Subscript::Kind::Place || subscript->kind == Subscript::Kind::Slice;
    ellipses += subscript->kind == Subscript::Kind::Ellipsis;
    subscripts.push_back(*subscript);
  }
  const int64_t rank = b.rankOf(x);
  if (named > rank || ellipses > 1)
    return b.error("'GetItem' has more subscripts than the tensor has dimensions");
  if (!ellipses)
    subscripts.push_back({Subscript::Kind::Ellipsis, {}, {}});
  llvm::SmallVector<int64_t> shape; // of the result; extents are read at the end
  llvm::SmallVector<bool> dropped(rank, false);
  llvm::SmallVector<int64_t> newAxes; // number of kept dimensions before each
  int64_t axis = 0, kept = 0;
  for (const Subscript &subscript : subscripts) {
    if (subscript.kind == Subscript::Kind::NewAxis) {
      newAxes.push_back(kept);
      continue;
    }
    if (subscript.kind == Subscript::Kind::Ellipsis) {
      axis += rank - named;
      kept += rank - named;
      continue;
    }
    const bool whole = subscript.kind == Subscript::Kind::Slice && !subscript.start &&
                       !subscript.stop && subscript.step == 1;
    if (!whole) {
      if (tensorTypeOf(x).isDynamicDim(axis))
        return b.error("'GetItem' that picks samples of the batch is not supported");
      const int64_t extent = b.shapeOf(x)[axis];
      if (subscript.kind == Subscript::Kind::Place) {
        const int64_t place = *subscript.start < 0 ? *subscript.start + extent : *subscript.start;
        if (place < 0 || place >= extent)
          return b.error("'GetItem' at place " + llvm::Twine(*subscript.start) + " of " +
                         llvm::Twine(extent));
        x = pick(b, x, axis, place);
        dropped[axis] = true;
      } else {
        x = pick(b, x, axis, placesOf(subscript, extent));
      }
    }
    kept += !dropped[axis];
    ++axis;
  }
  size_t nextNew = 0;
  for (int64_t d = 0, count = 0; d <= rank; ++d) {
    while (nextNew < newAxes.size() && newAxes[nextNew] == count) {
      shape.push_back(1);
      ++nextNew;
    }
    if (d == rank || dropped[d])
      continue;
    shape.push_back(b.shapeOf(x)[d]);
    ++count;
  }
  if (tensorTypeOf(x).isDynamicDim(0) && !mlir::ShapedType::isDynamic(shape.front()))
    return b.error("'GetItem' must leave the batch as the first dimension");
  return b.makeReshape(x, shape);
}

/// keras.ops.slice: starts and sizes, -1 for the rest.
Value sliceOf(B &b) {
  Value x = b.getValue(0, "inputs");
  std::optional<llvm::SmallVector<int64_t>> starts = b.getIntegers(1, "start_indices"),
                                            sizes = b.getIntegers(2, "shape");
  if (!x || !starts || !sizes)
    return x && !b.hasFailed() ? b.error("'Slice' needs constant starts and sizes") : Value();
  if (int64_t(starts->size()) != b.rankOf(x) || starts->size() != sizes->size())
    return b.error("'Slice' needs a start and a size per dimension");
  for (const auto &[axis, start, size] : llvm::enumerate(*starts, *sizes)) {
    const bool whole = start == 0 && size == -1;
    if (whole)
      continue;
    if (tensorTypeOf(x).isDynamicDim(axis))
      return b.error("'Slice' of the batch is not supported");
    const int64_t extent = b.shapeOf(x)[axis], count = size == -1 ? extent - start : size;
    if (start < 0 || count < 0 || start > extent - count)
      return b.error("'Slice' takes elements outside of the tensor");
    x = b.make<SliceOp>(x, int64_t(axis), start, count);
  }
  return x;
}

/// The tensor's axis by integers of any rank; for constants checked here.
Value take(B &b) {
  Value x = b.getValue(0, "x"), indices = b.getValue(1, "indices");
  if (!x || !indices)
    return {};
  if (mlir::isa<mlir::FloatType>(elementTypeOf(indices)) || elementTypeOf(indices).isInteger(1))
    return b.error("'Take' needs integer indices");
  if (!b.findArgument(2, "axis")) { // counts through the elements
    if (tensorTypeOf(x).getNumDynamicDims())
      return b.error("'Take' without an axis counts across samples; name one");
    x = b.makeReshape(x, {tensorTypeOf(x).getNumElements()});
  }
  const int64_t rank = b.rankOf(x), written = b.getInteger(2, "axis").value_or(0);
  const int64_t axis = written < 0 ? written + rank : written;
  if (axis < 0 || axis >= rank || tensorTypeOf(x).isDynamicDim(axis))
    return b.error("'Take' along the batch, or outside of the tensor");
  if (tensorTypeOf(x).getNumDynamicDims() && tensorTypeOf(indices).getNumDynamicDims())
    return b.error("'Take' from a tensor with a batch by indices with a batch is not supported; "
                   "use keras.ops.take_along_axis");
  if (auto constant = indices.getDefiningOp<ConstantOp>())
    for (const llvm::APInt &index :
         llvm::cast<mlir::DenseIntElementsAttr>(constant.getValue()).getValues<llvm::APInt>())
      if (index.getSExtValue() < -b.shapeOf(x)[axis] || index.getSExtValue() >= b.shapeOf(x)[axis])
        return b.error("'Take' at place " + llvm::Twine(index.getSExtValue()) + " of " +
                       llvm::Twine(b.shapeOf(x)[axis]));
  return b.make<GatherOp>(x, indices, axis, int64_t(0));
}

/// `x` repeated along dimensions of one element that have more in `shape`, but for the last.
Value repeatTo(B &b, Value x, llvm::ArrayRef<int64_t> shape) {
  for (const auto &[d, extent] : llvm::enumerate(shape.drop_back()))
    if (b.shapeOf(x)[d] == 1 && extent > 1)
      x = gatherAlong(b, x, int64_t(d), llvm::SmallVector<int64_t>(size_t(extent), 0));
  return x;
}

/// Each index picks along the axis where it stands itself; the other dimensions broadcast.
Value takeAlongAxis(B &b) {
  Value x = b.getValue(0, "x"), indices = b.getValue(1, "indices");
  if (!x || !indices)
    return {};
  if (mlir::isa<mlir::FloatType>(elementTypeOf(indices)) || elementTypeOf(indices).isInteger(1))
    return b.error("'TakeAlongAxis' needs integer indices");
  const int64_t rank = b.rankOf(x);
  if (!b.findArgument(2, "axis") || b.rankOf(indices) != rank)
    return b.error("'TakeAlongAxis' needs an axis and indices of the tensor's rank");
  std::optional<int64_t> axis = b.getAxis(b.getInteger(2, "axis").value_or(-1), rank);
  if (!axis)
    return {};
  const llvm::ArrayRef<int64_t> shape = b.shapeOf(x), places = b.shapeOf(indices);
  const auto isOne = [](int64_t extent) { return extent == 1; };
  if (*axis < rank - 1 && llvm::all_of(places.drop_front(*axis + 1), isOne) &&
      shape.take_front(*axis) == places.take_front(*axis))
    return b.make<GatherOp>(x, b.makeReshape(indices, places.take_front(*axis + 1)), *axis, *axis);
  // With the axis last, the others are shared dimensions of a gather.
  llvm::SmallVector<int64_t> order, back(rank);
  for (int64_t d = 0; d < rank; ++d)
    if (d != *axis)
      order.push_back(d);
  order.push_back(*axis);
  for (const auto &[place, d] : llvm::enumerate(order))
    back[d] = int64_t(place);
  const bool moved = *axis != rank - 1;
  if (moved) {
    x = b.make<TransposeOp>(x, order);
    indices = b.make<TransposeOp>(indices, order);
  }
  x = repeatTo(b, x, b.shapeOf(indices));
  indices = repeatTo(b, indices, b.shapeOf(x));
  if (b.shapeOf(x).drop_back() != b.shapeOf(indices).drop_back())
    return b.error("'TakeAlongAxis' of tensors of the shapes " + printShape(shape) + " and " +
                   printShape(places) + ", which do not broadcast, or have the batch in one alone");
  Value y = b.make<GatherOp>(x, indices, rank - 1, rank - 1);
  return moved ? b.make<TransposeOp>(y, back) : y;
}

Value oneHot(B &b) {
  Value indices = b.getValue(0, "x");
  std::optional<int64_t> classes = b.getInteger(1, "num_classes");
  if (!indices || !classes)
    return indices && !b.hasFailed() ? b.error("'OneHot' needs 'num_classes'") : Value();
  if (b.getFlag(4, "sparse", false))
    return b.error("sparse tensors are not supported");
  mlir::Type index = elementTypeOf(indices);
  if (mlir::isa<mlir::FloatType>(index) || index.isInteger(1)) {
    index = b.builder.getI64Type();
    indices = b.make<CastOp>(mlir::RankedTensorType::get(b.shapeOf(indices), index), indices);
  }
  if (*classes <= 0 || *classes > (int64_t(1) << 24))
    return b.error("'num_classes' of 'OneHot' is out of range");
  const std::string dtype = b.getString(3, "dtype", "float32");
  mlir::Type element = dtypeElement(b.builder, dtype);
  if (!element)
    return b.error("'OneHot' of dtype '" + dtype + "' is not supported");
  llvm::SmallVector<int64_t> shape(b.shapeOf(indices));
  const int64_t rank = int64_t(shape.size()) + 1;
  shape.push_back(*classes);
  Value y = b.make<OneHotOp>(mlir::RankedTensorType::get(shape, b.builder.getF32Type()), indices);
  int64_t axis = b.getInteger(2, "axis").value_or(-1);
  axis = axis < 0 ? axis + rank : axis;
  if (axis <= 0 || axis >= rank)
    return b.error("'axis' of 'OneHot' is the batch or outside of the tensor");
  if (axis != rank - 1) {
    llvm::SmallVector<int64_t> order;
    for (int64_t d = 0; d < rank; ++d)
      order.push_back(d < axis ? d : d == axis ? rank - 1 : d - 1);
    y = b.make<TransposeOp>(y, order);
  }
  return mlir::isa<mlir::FloatType>(element)
             ? b.makeCastTo(y, element)
             : b.make<CastOp>(mlir::RankedTensorType::get(b.shapeOf(y), element), y);
}

/// Which of the classes stand anywhere along the first axis behind the batch, which need not be the
/// last (keras/src/backend/tensorflow/nn.py).
Value multiHot(B &b) {
  Value indices = b.getValue(0, "inputs");
  std::optional<int64_t> classes = b.getInteger(kKeywordOnly, "num_classes");
  if (!indices || !classes)
    return indices && !b.hasFailed() ? b.error("'MultiHot' needs 'num_classes'") : Value();
  const mlir::Type type = elementTypeOf(indices);
  if (b.rankOf(indices) < 2 || mlir::isa<mlir::FloatType>(type) || type.isInteger(1) ||
      *classes <= 0 || *classes > (int64_t(1) << 24))
    return b.error("'MultiHot' needs a batch of integer indices and a reasonable 'num_classes'");
  if (b.getInteger(kKeywordOnly, "axis").value_or(-1) != -1 ||
      b.getFlag(kKeywordOnly, "sparse", false))
    return b.error("'MultiHot' along another axis than the last, or sparse, is not supported");
  const std::string dtype = b.getString(kKeywordOnly, "dtype", "float32");
  mlir::Type element = dtypeElement(b.builder, dtype);
  if (!element)
    return b.error("'MultiHot' of dtype '" + dtype + "' is not supported");
  llvm::SmallVector<int64_t> shape(b.shapeOf(indices));
  shape.push_back(*classes);
  Value hot = b.make<OneHotOp>(mlir::RankedTensorType::get(shape, b.builder.getF32Type()), indices);
  Value y = b.makeReduce(ReduceKind::Max, hot, {1}, /*keepDims=*/false);
  return mlir::isa<mlir::FloatType>(element)
             ? b.makeCastTo(y, element)
             : b.make<CastOp>(mlir::RankedTensorType::get(b.shapeOf(y), element), y);
}

/// Whether an element equals one of a constant number of others.
Value isIn(B &b) {
  Operand pair[2] = {b.getOperand(0, "x1"), b.getOperand(1, "x2")};
  if (b.hasFailed() || !b.promote(pair))
    return {};
  Value x = pair[0].value, others = pair[1].value;
  if (tensorTypeOf(others).getNumDynamicDims())
    return b.error("'IsIn' among the elements of a batch is not supported");
  int64_t count = 1;
  for (int64_t extent : b.shapeOf(others))
    count *= extent;
  llvm::SmallVector<int64_t> shape(b.shapeOf(x));
  shape.push_back(1);
  Value equal =
      b.makeCompare(ComparePredicate::EQ, b.makeReshape(x, shape), b.makeReshape(others, {count}));
  Value y = b.makeReduce(ReduceKind::Any, equal, {b.rankOf(equal) - 1}, /*keepDims=*/false);
  return b.getFlag(kKeywordOnly, "invert", false) ? b.makeNot(y) : y;
}

/// A tensor with a part of it replaced, at constant places.
Value sliceUpdate(B &b) {
  Operand pair[2] = {b.getOperand(0, "inputs"), b.getOperand(2, "updates")};
  std::optional<llvm::SmallVector<int64_t>> starts = b.getIntegers(1, "start_indices");
  if (b.hasFailed() || !starts || !b.promote(pair))
    return b.hasFailed() ? Value() : b.error("'SliceUpdate' needs constant starts");
  Value x = pair[0].value, update = pair[1].value;
  const int64_t rank = b.rankOf(x);
  if (int64_t(starts->size()) != rank || b.rankOf(update) != rank)
    return b.error("'SliceUpdate' needs a start for each dimension, and updates of as many");
  // From the last dimension that differs to the first: what stands before and behind is kept.
  std::function<Value(Value, int64_t)> replace = [&](Value whole, int64_t axis) -> Value {
    if (axis == rank)
      return update;
    const int64_t extent = b.shapeOf(whole)[axis], start = (*starts)[axis],
                  size = b.shapeOf(update)[axis];
    if (start == 0 && size == extent)
      return replace(whole, axis + 1);
    if (tensorTypeOf(whole).isDynamicDim(axis) || start < 0 || size > extent - start)
      return b.error("'SliceUpdate' across samples, or outside of the tensor");
    Value part = replace(b.make<SliceOp>(whole, axis, start, size), axis + 1);
    if (!part)
      return {};
    llvm::SmallVector<Value> parts;
    if (start)
      parts.push_back(b.make<SliceOp>(whole, axis, int64_t(0), start));
    parts.push_back(part);
    if (const int64_t rest = extent - start - size)
      parts.push_back(b.make<SliceOp>(whole, axis, start + size, rest));
    return b.make<ConcatenateOp>(mlir::ValueRange(parts), axis);
  };
  return replace(x, 0);
}

/// Keeps the lower or the upper triangle of the last two dimensions.
template <bool lower> Value triangle(B &b) {
  Value x = b.getValue(0, "x");
  const int64_t diagonal = b.getInteger(1, "k").value_or(0);
  if (!x)
    return {};
  const int64_t rank = b.rankOf(x);
  if (rank < 3 && tensorTypeOf(x).getNumDynamicDims())
    return b.error("'" + b.layer.className + "' across samples is not supported");
  if (rank < 2)
    return b.error("'" + b.layer.className + "' needs two dimensions");
  const int64_t rows = b.shapeOf(x)[rank - 2], columns = b.shapeOf(x)[rank - 1];
  Value kept = makeDiagonalMask(b, rows, columns,
                                lower ? ComparePredicate::LE : ComparePredicate::GE, diagonal);
  return b.makeSelect(kept, x, b.makeScalar(elementTypeOf(x), 0));
}

constexpr OperationEntry kIndexingOperations[] = {
    {"GetItem", getItem},     {"IsIn", isIn},
    {"MultiHot", multiHot},   {"OneHot", oneHot},
    {"Slice", sliceOf},       {"SliceUpdate", sliceUpdate},
    {"Take", take},           {"TakeAlongAxis", takeAlongAxis},
    {"Tril", triangle<true>}, {"Triu", triangle<false>},
};

} // namespace

llvm::ArrayRef<OperationEntry> indexingOperations() { return kIndexingOperations; }

} // namespace mpc::keras
