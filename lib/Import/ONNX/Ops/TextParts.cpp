// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Import/ONNX/Ops/TextParts.h"

#include "lib/Import/Common/ScanBuilder.h"

namespace mpc::onnx {

using mlir::Value;
using B = NodeBuilder;
using Extents = llvm::SmallVector<int64_t>;

Value getTexts(B &b, unsigned i) {
  if (b.getType(i) != DataType::String)
    return b.error("input " + llvm::Twine(i) + " is not of text");
  return b.get(i);
}

Value padTexts(B &b, Value texts, int64_t width) {
  // A gather takes zeros behind the end.
  return textWidthOf(texts) == width
             ? texts
             : b.make<GatherOp>(texts, makePlaces(b, width), b.rankOf(texts) - 1);
}

Value makeNumbers(B &b, llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> numbers) {
  return b.makeIndices(shape, numbers);
}

Value makeNumber(B &b, int64_t number) { return b.makeInteger(b.builder.getI32Type(), number); }

Value makePlaces(B &b, int64_t count) {
  return b.makeIndices({count}, llvm::to_vector(llvm::seq<int64_t>(0, count)));
}

Value makeTexts(B &b, llvm::ArrayRef<std::string> texts) {
  int64_t width = 1;
  auto points = decodeTexts(texts, width);
  if (!points)
    return b.error("an attribute has text that is no UTF-8, or has U+0000, which ends a text");
  if (width > kMostTextWidth || int64_t(points->size()) > kMostTextConstants)
    return b.error("an attribute has more than " + llvm::Twine(kMostTextWidth) +
                   " code points in a text, or more than 2^24 in all");
  return b.makeIndices({int64_t(texts.size()), width}, *points);
}

Value lookUp(B &b, Value points, const CodePointTable &table) {
  const Value size = makeNumber(b, CodePointTable::kPage);
  Value number = b.make<IntegerOp>(IntegerKind::ShiftRight, points, makeNumber(b, 8)),
        inside =
            b.make<IntegerOp>(IntegerKind::And, points, makeNumber(b, CodePointTable::kPage - 1));
  Value page = b.make<GatherOp>(makeNumbers(b, {int64_t(table.pages.size())}, table.pages), number,
                                int64_t(0));
  Value place = b.make<AddOp>(b.make<MultiplyOp>(page, size), inside);
  return b.make<GatherOp>(makeNumbers(b, {int64_t(table.numbers.size())}, table.numbers), place,
                          int64_t(0));
}

Value countTrue(B &b, Value condition) {
  return b.makeSelect(condition, makeNumber(b, 1), makeNumber(b, 0));
}

Value measureTexts(B &b, Value texts) {
  Value isThere = b.makeCompare(ComparePredicate::NE, texts, makeNumber(b, 0));
  return b.makeReduce(ReduceKind::Sum, countTrue(b, isThere), {b.rankOf(texts) - 1},
                      /*keepDims=*/true);
}

Value compareTexts(B &b, Value x, Value y) {
  const int64_t width = std::max(textWidthOf(x), textWidthOf(y));
  Value differs = b.makeCompare(ComparePredicate::NE, padTexts(b, x, width), padTexts(b, y, width));
  Value count = b.makeReduce(ReduceKind::Max, countTrue(b, differs), {b.rankOf(differs) - 1},
                             /*keepDims=*/false);
  return b.makeCompare(ComparePredicate::EQ, count, makeNumber(b, 0));
}

Value insertAxis(B &b, Value x, int64_t axis) {
  Extents shape(b.shapeOf(x));
  shape.insert(shape.begin() + axis, 1);
  return b.makeReshape(x, shape);
}

Value takeAlongLast(B &b, Value table, Value numbers) {
  const int64_t last = b.rankOf(table) - 1;
  return b.make<GatherOp>(table, numbers, last, last);
}

TextScan scanTexts(B &b, Value points, int64_t first,
                   llvm::function_ref<std::pair<Value, Value>(Value, Value)> step) {
  const Extents shape(textShapeOf(points));
  const int64_t width = textWidthOf(points);
  // A scan has the batch first and the steps behind it.
  Value rows = shape.empty() ? insertAxis(b, points, 0) : points;
  const int64_t rank = b.rankOf(rows);
  Extents there{0, rank - 1}, back{0};
  for (int64_t d = 1; d < rank - 1; ++d) {
    there.push_back(d);
    back.push_back(d + 1);
  }
  back.push_back(1);
  Value column =
      b.makeReshape(b.make<SliceOp>(rows, rank - 1, int64_t(0), int64_t(1)), textShapeOf(rows));
  Value start = b.makeSelect(ComparePredicate::EQ, column, column, makeNumber(b, first), column);
  ScanBuilder loop(b.builder, b.location, {start},
                   {rank > 2 ? b.make<TransposeOp>(rows, there) : rows}, width, /*reverse=*/false);
  const auto [next, output] = step(loop.getCarried()[0], loop.getSlices()[0]);
  ScanOp scan = output ? loop.finish({next}, {output}) : loop.finish({next}, {});
  TextScan result;
  result.last = b.makeReshape(scan.getFinals().front(), shape);
  if (output) {
    Value stacked = scan.getStacked().front();
    result.outputs =
        b.makeReshape(rank > 2 ? b.make<TransposeOp>(stacked, back) : stacked, b.shapeOf(points));
  }
  return result;
}

void setCounted(B &b, unsigned i, Value value, int64_t axis, Value count) {
  Value extent = b.make<CastOp>(mlir::RankedTensorType::get({}, b.builder.getI64Type()), count);
  b.setBound(value, axis, extent);
  b.setResult(i, value, DataType::String);
}

Value sumUpTo(B &b, Value x) {
  // Each round adds what is twice as far in front: zeros where there is nothing.
  const int64_t width = textWidthOf(x);
  for (int64_t distance = 1; distance < width; distance *= 2) {
    Extents places;
    for (int64_t place = 0; place < width; ++place)
      places.push_back(place < distance ? width : place - distance);
    x = b.make<AddOp>(x, b.make<GatherOp>(x, makeNumbers(b, {width}, places), b.rankOf(x) - 1));
  }
  return x;
}

} // namespace mpc::onnx
