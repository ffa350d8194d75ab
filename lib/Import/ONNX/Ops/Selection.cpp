// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Operations with as many results as values say: places of elements, and what is at them. Results
// have the largest extent, and a count says how many there are.
#include "lib/Import/Common/Shape.h"
#include "lib/Import/ONNX/NodeBuilder.h"
#include "lib/Import/ONNX/OpTable.h"
#include "lib/Import/ONNX/Ops/Casts.h"

#include "llvm/ADT/STLExtras.h"

namespace mpc::onnx {
namespace {

using mlir::Value;
using B = NodeBuilder;
using Numbers = llvm::SmallVector<int64_t>;

/// Places that are looked at.
constexpr int64_t kMostPlaces = 1 << 24;
/// Elements of constants whose places are found at once.
constexpr int64_t kMostFolded = 1 << 16;

Numbers countTo(int64_t count) { return llvm::to_vector(llvm::seq<int64_t>(0, count)); }

/// The numbers of the true elements of a mask without an open batch, bounded by their count. There
/// are at least two: of several dimensions with one place nothing would tell the bounded one.
Value findPlaces(B &b, Value mask) {
  const int64_t count = tensorTypeOf(mask).getNumElements();
  mask = b.makeReshape(mask, {count});
  if (count == 1)
    mask = b.make<ConcatenateOp>(mlir::ValueRange{mask, b.makeBool(b.makeIndices({1}, {0}))},
                                 int64_t(0));
  auto places = CompactOp::create(b.builder, b.location, mask);
  b.setBound(places.getPlaces(), 0, places.getCount());
  return places.getPlaces();
}

/// places / stride % extent, of places that are not negative.
Value digit(B &b, Value places, int64_t stride, int64_t extent) {
  const mlir::Type i64 = b.builder.getI64Type();
  if (stride != 1)
    places = b.make<IntegerOp>(IntegerKind::FloorDivide, places, b.makeInteger(i64, stride));
  return b.make<IntegerOp>(IntegerKind::Modulo, places, b.makeInteger(i64, extent));
}

/// Vectors of one extent as the rows or, with `asColumns`, the columns of a matrix.
Value join(B &b, llvm::ArrayRef<Value> vectors, bool asColumns) {
  llvm::SmallVector<Value> parts;
  for (Value vector : vectors) {
    const int64_t count = b.shapeOf(vector)[0];
    parts.push_back(b.makeReshape(vector, asColumns ? Numbers{count, 1} : Numbers{1, count}));
  }
  return parts.size() == 1 ? parts.front()
                           : b.make<ConcatenateOp>(mlir::ValueRange(parts), int64_t(asColumns));
}

// ---- NonZero ------------------------------------------------------------------------------------

void ofConstant(B &b, const Literal *x) {
  const auto strides = rowMajorStrides(x->tensor.shape);
  Numbers found, places;
  for (int64_t i = 0, count = x->tensor.size(); i < count; ++i)
    if (x->tensor.at(i) != 0)
      found.push_back(i);
  for (const auto &[stride, extent] : llvm::zip_equal(strides, x->tensor.shape))
    for (int64_t i : found)
      places.push_back(i / stride % extent);
  const Numbers shape{int64_t(x->tensor.shape.size()), int64_t(found.size())};
  b.setResult(0, b.makeLiteral(Literal::fromIntegers(b.builder, shape, places)), DataType::Int64);
}

/// The place of each element that is not zero, a column for each.
void nonZero(B &b) {
  if (const Literal *x = b.getLiteral(0); x && !x->hasBatch && x->tensor.size() <= kMostFolded)
    return ofConstant(b, x);
  Value x = b.get(0);
  if (!x)
    return;
  const Numbers shape(b.shapeOf(x));
  if (mlir::ShapedType::isDynamicShape(shape))
    return (void)b.errorOfOpenBatch("counts across samples of the open batch");
  const int64_t count = tensorTypeOf(x).getNumElements();
  if (shape.empty() || count == 0 || count > kMostPlaces)
    return (void)b.error(
        "takes a tensor of 1 to 2^24 elements in one dimension or more, and not of "
        "shape " +
        printShape(shape));
  Value places = findPlaces(b, b.makeBool(x));
  const auto strides = rowMajorStrides(shape);
  llvm::SmallVector<Value> rows;
  for (const auto &[stride, extent] : llvm::zip_equal(strides, shape))
    rows.push_back(digit(b, places, stride, extent));
  b.setResult(0, join(b, rows, /*asColumns=*/false), DataType::Int64);
}

// ---- Compress -----------------------------------------------------------------------------------

/// Elements where a condition is true.
void compress(B &b) {
  const Literal *condition = b.getLiteral(1);
  Value x = b.get(0), mask = condition ? Value() : b.get(1);
  if (!x || (!condition && !mask))
    return;
  int64_t axis = 0;
  if (b.attributes.has("axis")) {
    std::optional<int64_t> named = b.resolveAxis(b.attributes.getInteger("axis", 0), b.rankOf(x));
    if (!named)
      return;
    axis = *named;
  } else if (tensorTypeOf(x).getNumDynamicDims()) {
    return (void)b.errorOfOpenBatch("without an axis counts across samples");
  } else {
    x = b.makeReshape(x, {tensorTypeOf(x).getNumElements()});
  }
  const int64_t extent = b.shapeOf(x)[size_t(axis)];
  if (condition) {
    Numbers places;
    for (int64_t i = 0, count = condition->tensor.size(); i < count; ++i)
      if (condition->tensor.at(i) != 0)
        places.push_back(i);
    if (places.empty() || mlir::ShapedType::isDynamic(extent) || places.back() >= extent)
      return (void)b.error("keeps nothing, elements outside of the input, or samples of the open "
                           "batch");
    Value indices = b.makeIndices({int64_t(places.size())}, places);
    return b.setResult(0, b.make<GatherOp>(x, indices, axis, int64_t(0)), b.getType(0));
  }
  if (mlir::ShapedType::isDynamic(extent) || tensorTypeOf(mask).getNumDynamicDims())
    return (void)b.errorOfOpenBatch("keeps some samples of the open batch");
  if (b.rankOf(mask) != 1 || b.shapeOf(mask)[0] < 1 || b.shapeOf(mask)[0] > extent ||
      extent > kMostPlaces)
    return (void)b.error("takes a condition of one dimension, of 1 to " + llvm::Twine(extent) +
                         " elements, and not of shape " + printShape(b.shapeOf(mask)));
  Value places = findPlaces(b, b.makeBool(mask));
  b.setResult(0, b.make<GatherOp>(x, places, axis, int64_t(0)), b.getType(0));
}

// ---- NonMaxSuppression --------------------------------------------------------------------------

/// Input `i`, a number as a scalar or a list of one, as float32 without dimensions; `otherwise`
/// where it is left out. Null after an error.
Value readNumber(B &b, unsigned i, double otherwise) {
  const mlir::Type f32 = b.builder.getF32Type();
  if (!b.has(i))
    return b.makeCastTo(b.makeConstant(otherwise), f32);
  Value x = b.get(i);
  if (!x)
    return {};
  if (!b.isFloat(x) || !tensorTypeOf(x).hasStaticShape() || tensorTypeOf(x).getNumElements() != 1)
    return b.error("input " + llvm::Twine(i) + " must be a floating number");
  return b.makeReshape(b.makeCastTo(x, f32), {});
}

/// How many boxes of a class there may be at most, of `boxes`. Below 1 there are none; nothing
/// where the model computes it.
std::optional<int64_t> readLimit(B &b, int64_t boxes) {
  if (!b.has(2))
    return 0;
  const Literal *limit = b.getLiteral(2);
  if (!limit || !limit->isInteger() || limit->tensor.size() != 1)
    return std::nullopt;
  return std::min(limit->tensor.integers[0], boxes);
}

/// [batch, class, box] of each chosen box.
void nonMaxSuppression(B &b) {
  b.keepInputs(); // a place of 640 pixels would be rounded to half ones
  const bool isCentered = b.attributes.getFlag("center_point_box");
  Value boxes = b.get(0), scores = b.get(1);
  if (!boxes || !scores)
    return;
  const Numbers shape(b.shapeOf(scores)), corners(b.shapeOf(boxes));
  if (shape.size() != 3 || corners.size() != 3 || corners[2] != 4 || corners[0] != shape[0] ||
      corners[1] != shape[2] || !b.isFloat(boxes) || !b.isFloat(scores))
    return (void)b.error(
        "takes boxes [batch, boxes, 4] and scores [batch, classes, boxes], and not "
        "of shapes " +
        printShape(corners) + " and " + printShape(shape));
  if (mlir::ShapedType::isDynamicShape(shape))
    return (void)b.errorOfOpenBatch("counts boxes across samples of the open batch");
  const int64_t samples = shape[0], kinds = shape[1], count = shape[2];
  const std::optional<int64_t> known = readLimit(b, count);
  const int64_t limit = known.value_or(count);
  const mlir::Type i64 = b.builder.getI64Type();
  if (limit < 1) {
    Literal none = Literal::fromIntegers(b.builder, {0, 3}, {});
    return b.setResult(0, b.makeLiteral(none), DataType::Int64);
  }
  if (samples * kinds > kMostPlaces / limit)
    return (void)b.error("may choose " + llvm::Twine(limit) + " boxes of each of " +
                         llvm::Twine(kinds) +
                         " classes; expected at most 2^24 in all; state a "
                         "smaller max_output_boxes_per_class");
  Value overlap = readNumber(b, 3, 0), least = b.has(4) ? readNumber(b, 4, 0) : Value();
  if (!overlap || (b.has(4) && !least))
    return;
  Value picks = b.make<SelectBoxesOp>(boxes, scores, overlap, least, limit, isCentered);
  Value isPicked =
      b.makeCompare(ComparePredicate::GE, picks, b.makeInteger(b.builder.getI32Type(), 0));
  if (!known) {
    Value most = b.get(2);
    if (!most)
      return;
    if (B::isFloat(most) || !tensorTypeOf(most).hasStaticShape() ||
        tensorTypeOf(most).getNumElements() != 1)
      return (void)b.error("max_output_boxes_per_class must be an integer");
    Value numbers = castTo(b, b.makeIndices({limit}, countTo(limit)), i64);
    most = b.makeReshape(castTo(b, most, i64), {});
    isPicked = b.make<LogicalAndOp>(isPicked, b.makeCompare(ComparePredicate::LT, numbers, most));
  }
  Value places = findPlaces(b, isPicked);
  const int64_t all = samples * kinds * limit;
  Value numbers =
      b.make<GatherOp>(b.makeReshape(castTo(b, picks, i64), {all}), places, int64_t(0), int64_t(0));
  b.setResult(
      0,
      join(b, {digit(b, places, kinds * limit, samples), digit(b, places, limit, kinds), numbers},
           /*asColumns=*/true),
      DataType::Int64);
}

constexpr OpEntry kTable[] = {
    {"Compress", 9, compress},
    {"NonMaxSuppression", 10, nonMaxSuppression},
    {"NonZero", 9, nonZero},
};

} // namespace

llvm::ArrayRef<OpEntry> getSelectionOps() { return kTable; }

} // namespace mpc::onnx
