// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Elements around a tensor: constant ones, or its own again.
#include "lib/Import/ONNX/NodeBuilder.h"
#include "lib/Import/ONNX/OpTable.h"
#include "lib/Import/ONNX/Ops/Axes.h"

namespace mpc::onnx {
namespace {

using mlir::Value;
using B = NodeBuilder;
using Extents = llvm::SmallVector<int64_t>;

enum class Mode { Constant, Reflect, Edge, Wrap };

std::optional<Mode> readMode(B &b) {
  const llvm::StringRef name = b.attributes.getText("mode", "constant");
  if (name == "constant")
    return Mode::Constant;
  if (name == "reflect")
    return Mode::Reflect;
  if (name == "edge")
    return Mode::Edge;
  if (name == "wrap")
    return Mode::Wrap;
  b.error("the mode '" + name + "' is not supported");
  return std::nullopt;
}

int64_t modulo(int64_t a, int64_t n) { return ((a % n) + n) % n; }

/// The element that place `place` of an axis takes, of `extent`; -1 for the constant.
int64_t sourceOf(Mode mode, int64_t place, int64_t extent) {
  switch (mode) {
  case Mode::Constant:
    return place >= 0 && place < extent ? place : -1;
  case Mode::Edge:
    return std::clamp<int64_t>(place, 0, extent - 1);
  case Mode::Wrap:
    return modulo(place, extent);
  case Mode::Reflect:
    if (extent == 1)
      return 0;
    const int64_t turn = modulo(place, 2 * (extent - 1));
    return std::min(turn, 2 * (extent - 1) - turn);
  }
  return -1;
}

/// Where `inside` is false, `value` instead.
Value fill(B &b, Value y, Value inside, Value value) { return b.makeSelect(inside, y, value); }

/// The truth along one axis of a tensor of this rank.
Value alongAxis(B &b, llvm::ArrayRef<bool> truth, int64_t axis, int64_t rank) {
  Extents shape(size_t(rank), 1);
  shape[size_t(axis)] = int64_t(truth.size());
  return b.makeMask(shape, truth);
}

/// Known amounts. `value`: null for zero.
Value padKnown(B &b, Value x, Mode mode, llvm::ArrayRef<int64_t> axes, llvm::ArrayRef<int64_t> low,
               llvm::ArrayRef<int64_t> high, Value value, std::optional<double> number) {
  const int64_t rank = b.rankOf(x);
  for (size_t i = 0; i < axes.size(); ++i) {
    const int64_t axis = axes[i], extent = b.shapeOf(x)[axis];
    if (low[i] == 0 && high[i] == 0)
      continue;
    const int64_t places = extent + low[i] + high[i];
    if (mlir::ShapedType::isDynamic(extent) || places < 1 || places > (int64_t(1) << 30))
      return b.error("cannot pad " + llvm::Twine(extent) + " elements by " + llvm::Twine(low[i]) +
                     " and " + llvm::Twine(high[i]));
    if (mode == Mode::Constant && number && b.isFloat(x) && low[i] >= 0 && high[i] >= 0) {
      x = b.make<PadOp>(x, axis, low[i], high[i], llvm::APFloat(*number));
      continue;
    }
    ResampleTable table;
    table.axis = axis;
    llvm::SmallVector<bool> inside;
    for (int64_t place = 0; place < places; ++place) {
      table.indices.push_back(sourceOf(mode, place - low[i], extent));
      inside.push_back(table.indices.back() >= 0);
    }
    x = resample(b, x, {table});
    if (value && llvm::is_contained(inside, false))
      x = fill(b, x, alongAxis(b, inside, axis, rank), value);
  }
  return x;
}

Value integer(B &b, mlir::Type type, int64_t value) { return b.makeInteger(type, value); }

/// Amounts that the call gives, to the extents that the file states.
Value padStated(B &b, Value x, Mode mode, llvm::ArrayRef<int64_t> axes, Value pads,
                llvm::ArrayRef<int64_t> stated, Value value) {
  const int64_t rank = b.rankOf(x);
  const mlir::Type type = elementTypeOf(pads);
  if (int64_t(stated.size()) != rank)
    return b.error("the file states a result of another rank");
  for (size_t i = 0; i < axes.size(); ++i) {
    const int64_t axis = axes[i], extent = b.shapeOf(x)[axis], places = stated[size_t(axis)];
    if (mlir::ShapedType::isDynamic(extent) || mlir::ShapedType::isDynamic(places))
      continue;
    Extents numbers = llvm::to_vector(llvm::seq<int64_t>(0, places));
    Value place = b.makeLiteral(Literal::fromIntegers(b.builder, {places}, numbers));
    Value source = b.make<SubtractOp>(place, b.make<SliceOp>(pads, 0, int64_t(i), 1));
    Value zero = integer(b, type, 0), last = integer(b, type, extent - 1), inside;
    if (mode == Mode::Constant)
      inside = b.make<LogicalAndOp>(b.makeCompare(ComparePredicate::GE, source, zero),
                                    b.makeCompare(ComparePredicate::LE, source, last));
    if (mode == Mode::Wrap)
      source = b.make<IntegerOp>(IntegerKind::Modulo, source, integer(b, type, extent));
    if (mode == Mode::Reflect && extent > 1) {
      Value turn = integer(b, type, 2 * (extent - 1));
      source = b.make<IntegerOp>(IntegerKind::Modulo, source, turn);
      source = b.make<MinimumOp>(source, b.make<SubtractOp>(turn, source));
    }
    source = b.make<MinimumOp>(b.make<MaximumOp>(source, zero), last);
    x = b.make<GatherOp>(x, source, axis);
    if (inside) {
      Extents shape(size_t(rank), 1);
      shape[size_t(axis)] = places;
      x = fill(b, x, b.makeReshape(inside, shape), value ? value : b.makeZero(elementTypeOf(x)));
    }
  }
  return x;
}

void pad(B &b) {
  Value x = b.get(0);
  auto mode = readMode(b);
  if (!x || !mode)
    return;
  const int64_t rank = b.rankOf(x);
  Extents axes = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  if (b.opset >= 18 && b.has(3)) {
    auto given = b.getIntegers(3, "the axes");
    if (!given)
      return;
    axes.clear();
    for (int64_t axis : *given)
      if (std::optional<int64_t> front = b.resolveAxis(axis, rank))
        axes.push_back(*front);
      else
        return;
  }
  Value value;
  std::optional<double> number = b.attributes.getNumber("value", 0.0);
  if (b.opset >= 11 && b.has(2) && *mode == Mode::Constant) {
    value = b.makeReshape(b.get(2), {});
    const Literal *literal = b.getLiteral(2);
    number = literal && literal->tensor.size() == 1 ? std::optional(literal->tensor.at(0))
                                                    : std::nullopt;
  }
  if (b.opset >= 11 && b.has(1) && !b.getLiteral(1)) {
    Value pads = b.get(1);
    auto stated = b.takeStatedShape(1, "the pads", 0, /*isRead=*/true);
    if (stated && pads)
      b.setResult(0, padStated(b, x, *mode, axes, pads, *stated, value), b.getType(0));
    return;
  }
  auto pads = b.opset < 11
                  ? std::optional(b.attributes.getIntegers(b.opset < 2 ? "paddings" : "pads"))
                  : b.getIntegers(1, "the pads");
  if (!pads)
    return;
  if (pads->size() != 2 * axes.size())
    return (void)b.error("needs two amounts for each axis");
  for (int64_t amount : *pads)
    if (amount < -(int64_t(1) << 30) || amount > (int64_t(1) << 30))
      return (void)b.error("pads by " + llvm::Twine(amount));
  const llvm::ArrayRef<int64_t> amounts = *pads;
  b.setResult(0,
              padKnown(b, x, *mode, axes, amounts.take_front(axes.size()),
                       amounts.drop_front(axes.size()), value, number),
              b.getType(0));
}

/// The middle of the input, or zeros around it, for each axis.
void centerCropPad(B &b) {
  Value x = b.get(0);
  auto extents = b.getIntegers(1, "the shape");
  if (!x || !extents)
    return;
  const int64_t rank = b.rankOf(x);
  Extents axes = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  if (b.attributes.has("axes")) {
    axes = b.attributes.getIntegers("axes");
    for (int64_t &axis : axes)
      if (std::optional<int64_t> front = b.resolveAxis(axis, rank))
        axis = *front;
      else
        return;
  }
  if (axes.size() != extents->size())
    return (void)b.error("needs an extent for each axis");
  Extents low, high;
  for (const auto &[axis, wanted] : llvm::zip_equal(axes, *extents)) {
    const int64_t extent = b.shapeOf(x)[size_t(axis)];
    if (mlir::ShapedType::isDynamic(extent) || wanted < 1 || wanted > int64_t(1) << 30)
      return (void)b.error("cannot make " + llvm::Twine(wanted) + " elements of " +
                           llvm::Twine(extent));
    // The odd one is cut off at the end, and added there.
    low.push_back(wanted < extent ? -((extent - wanted) / 2) : (wanted - extent) / 2);
    high.push_back(wanted - extent - low.back());
  }
  b.setResult(0, padKnown(b, x, Mode::Constant, axes, low, high, Value(), 0.0), b.getType(0));
}

/// Rows and columns on one side of a diagonal of the last two dimensions.
void triangle(B &b) {
  Value x = b.get(0);
  if (!x)
    return;
  int64_t diagonal = 0;
  const int64_t rank = b.rankOf(x);
  if (rank < 2)
    return (void)b.error("takes matrices");
  const int64_t rows = b.shapeOf(x)[size_t(rank) - 2], columns = b.shapeOf(x)[size_t(rank) - 1];
  const bool isUpper = b.attributes.getFlag("upper", true);
  const mlir::Type i64 = b.builder.getI64Type();
  Value offset;
  if (b.has(1) && b.getLiteral(1)) {
    auto given = b.getIntegers(1, "k");
    if (!given || given->size() != 1)
      return;
    diagonal = std::clamp<int64_t>(given->front(), -rows, columns);
    offset = integer(b, i64, diagonal);
  } else {
    offset = b.has(1) ? b.makeReshape(b.get(1), {}) : integer(b, i64, 0);
  }
  if (mlir::ShapedType::isDynamic(rows))
    return (void)b.errorOfOpenBatch("the rows are the open batch");
  auto numbers = [&](int64_t count, llvm::ArrayRef<int64_t> shape) {
    return b.makeLiteral(
        Literal::fromIntegers(b.builder, shape, llvm::to_vector(llvm::seq<int64_t>(0, count))));
  };
  Value row = b.make<AddOp>(numbers(rows, {rows, 1}), offset), column = numbers(columns, {columns});
  Value keeps = b.makeCompare(isUpper ? ComparePredicate::GE : ComparePredicate::LE, column, row);
  b.setResult(0, b.makeSelect(keeps, x, b.makeZero(elementTypeOf(x))), b.getType(0));
}

constexpr OpEntry kTable[] = {
    {"CenterCropPad", 18, centerCropPad},
    {"Pad", 1, pad},
    {"Trilu", 14, triangle},
};

} // namespace

llvm::ArrayRef<OpEntry> getPaddingOps() { return kTable; }

} // namespace mpc::onnx
