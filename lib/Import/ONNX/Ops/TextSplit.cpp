// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// StringSplit: pieces of texts between separators. Each code point gets the number of its piece;
// where a piece begins and how long it is follow from these.
#include "lib/Import/ONNX/OpTable.h"
#include "lib/Import/ONNX/Ops/Casts.h"
#include "lib/Import/ONNX/Ops/TextParts.h"
#include "lib/Import/ONNX/Ops/TextPieces.h"

namespace mpc::onnx {
namespace {

using mlir::Value;
using B = NodeBuilder;
using Extents = llvm::SmallVector<int64_t>;

/// Code points of all pieces of one text together.
constexpr int64_t kMostPoints = int64_t(1) << 22;

/// White space, as Python's str.split takes it.
constexpr int32_t kSpaces[] = {0x9,    0xa,    0xb,    0xc,    0xd,    0x1c,   0x1d,   0x1e,
                               0x1f,   0x20,   0x85,   0xa0,   0x1680, 0x2000, 0x2001, 0x2002,
                               0x2003, 0x2004, 0x2005, 0x2006, 0x2007, 0x2008, 0x2009, 0x200a,
                               0x2028, 0x2029, 0x202f, 0x205f, 0x3000};

/// Pieces of texts [texts…, width].
struct Pieces {
  Value numbers; ///< of each code point's piece; -1: it is in none. [texts…, width]
  Value count;   ///< [texts…, 1]
  int64_t most;  ///< of a text that the width can hold
};

Value isTrue(B &b, Value number) {
  return b.makeCompare(ComparePredicate::GT, number, makeNumber(b, 0));
}

Value isThere(B &b, Value texts) {
  return b.makeCompare(ComparePredicate::NE, texts, makeNumber(b, 0));
}

/// The code points `distance` in front of each; zeros where there are none.
Value shift(B &b, Value x, int64_t distance) {
  const int64_t width = textWidthOf(x);
  Extents places;
  for (int64_t place = 0; place < width; ++place) {
    const int64_t from = place - distance;
    places.push_back(from < 0 || from >= width ? width : from);
  }
  return b.make<GatherOp>(x, makeNumbers(b, {width}, places), b.rankOf(x) - 1);
}

Value lastOf(B &b, Value x) {
  return b.make<SliceOp>(x, b.rankOf(x) - 1, textWidthOf(x) - 1, int64_t(1));
}

Value keepWhere(B &b, Value condition, Value numbers) {
  return b.makeSelect(condition, numbers, makeNumber(b, -1));
}

/// Between runs of white space, which the last of `most` pieces may have inside and at its end.
Pieces splitAtSpaces(B &b, Value x, int64_t most) {
  std::vector<int32_t> isSpace(size_t(kCodePointLimit), 0);
  isSpace[0] = 1; // behind the end
  for (int32_t space : kSpaces)
    isSpace[size_t(space)] = 1;
  Value space = lookUp(b, x, CodePointTable(isSpace));
  Value before = shift(b, space, 1), one = makeNumber(b, 1);
  // In front of the text is nothing, which is as good as white space.
  before = b.makeSelect(ComparePredicate::EQ, makePlaces(b, textWidthOf(x)), makeNumber(b, 0), one,
                        before);
  Value begins = b.make<MultiplyOp>(before, b.make<SubtractOp>(one, space));
  Value begun = sumUpTo(b, begins);
  Value isLast = b.makeCompare(ComparePredicate::GE, begun, makeNumber(b, most));
  Value number = b.make<SubtractOp>(b.make<MinimumOp>(begun, makeNumber(b, most)), one);
  Value isInside = b.makeOr(b.makeNot(isTrue(b, space)), isLast);
  Pieces pieces;
  pieces.numbers = keepWhere(b, b.make<LogicalAndOp>(isThere(b, x), isInside), number);
  pieces.count = b.make<MinimumOp>(lastOf(b, begun), makeNumber(b, most));
  pieces.most = std::min(most, (textWidthOf(x) + 1) / 2);
  return pieces;
}

/// Whether a delimiter that begins inside of another one's place is possible.
bool overlapsItself(llvm::ArrayRef<int32_t> delimiter) {
  for (size_t distance = 1; distance < delimiter.size(); ++distance)
    if (delimiter.drop_front(distance) == delimiter.drop_back(distance))
      return true;
  return false;
}

/// Where delimiters begin, 1 or 0, from the front and none inside of another.
Value findDelimiters(B &b, Value x, llvm::ArrayRef<int32_t> delimiter) {
  Value isMatch;
  for (const auto &[i, point] : llvm::enumerate(delimiter)) {
    Value same =
        b.makeCompare(ComparePredicate::EQ, shift(b, x, -int64_t(i)), makeNumber(b, point));
    isMatch = isMatch ? b.make<LogicalAndOp>(isMatch, same) : same;
  }
  Value matches = countTrue(b, isMatch);
  if (!overlapsItself(delimiter))
    return matches;
  // The state is how many code points of the last delimiter are still to come.
  Value zero = makeNumber(b, 0), one = makeNumber(b, 1),
        rest = makeNumber(b, int64_t(delimiter.size()) - 1);
  return scanTexts(b, matches, 0,
                   [&](Value state, Value own) {
                     Value isFree = b.makeCompare(ComparePredicate::EQ, state, zero);
                     Value taken = b.makeSelect(isFree, own, zero);
                     Value less = b.make<MaximumOp>(b.make<SubtractOp>(state, one), zero);
                     return std::pair(b.makeSelect(isTrue(b, taken), rest, less), taken);
                   })
      .outputs;
}

Pieces splitAtDelimiters(B &b, Value x, llvm::ArrayRef<int32_t> delimiter, int64_t most) {
  const int64_t length = int64_t(delimiter.size());
  Value found = findDelimiters(b, x, delimiter), one = makeNumber(b, 1);
  // As many as count are passed; the others are parts of the last piece.
  Value passed = b.make<MinimumOp>(sumUpTo(b, found), makeNumber(b, most - 1));
  Value covered = b.make<SubtractOp>(passed, shift(b, passed, length));
  Pieces pieces;
  pieces.numbers =
      keepWhere(b, b.make<LogicalAndOp>(isThere(b, x), b.makeNot(isTrue(b, covered))), passed);
  pieces.count = b.make<AddOp>(lastOf(b, passed), one);
  pieces.most = std::min(most, textWidthOf(x) / length + 1);
  return pieces;
}

/// The pieces of each text: [texts…, most, width].
Value gatherPieces(B &b, Value x, const Pieces &pieces) {
  const int64_t width = textWidthOf(x), rank = b.rankOf(x), most = pieces.most;
  Value columns = b.makeReshape(makePlaces(b, most), {most, 1});
  Value isOwn = b.makeCompare(ComparePredicate::EQ, insertAxis(b, pieces.numbers, rank - 1),
                              columns); // [texts…, most, width]
  Value places = makePlaces(b, width), end = makeNumber(b, width);
  Value begin = b.makeReduce(ReduceKind::Min, b.makeSelect(isOwn, places, end), {rank},
                             /*keepDims=*/true),
        length = b.makeReduce(ReduceKind::Sum, countTrue(b, isOwn), {rank}, /*keepDims=*/true);
  Value from =
      b.makeSelect(ComparePredicate::LT, places, length, b.make<AddOp>(places, begin), end);
  return takeAlongLast(b, x, from);
}

} // namespace

void splitTexts(B &b) {
  Value x = getTexts(b, 0);
  const llvm::StringRef delimiter = b.attributes.getText("delimiter");
  const int64_t splits = b.attributes.getInteger("maxsplit", -1);
  std::optional<std::vector<int32_t>> points = decodeText(delimiter);
  if (!x)
    return;
  if (!points)
    return (void)b.error("the delimiter is no UTF-8, or has U+0000, which ends a text");
  Extents shape(textShapeOf(x));
  if (llvm::is_contained(shape, 0)) { // of no texts there are no pieces
    b.setResult(1, castTo(b, makeNumbers(b, shape, {}), b.builder.getI64Type()), DataType::Int64);
    shape.append({0, textWidthOf(x)});
    return b.setResult(0, makeNumbers(b, shape, {}), DataType::String);
  }
  const int64_t width = textWidthOf(x),
                most = splits < 0 || splits > width ? width + 1 : splits + 1;
  Pieces pieces =
      points->empty() ? splitAtSpaces(b, x, most) : splitAtDelimiters(b, x, *points, most);
  if (pieces.most > kMostPoints / width)
    return (void)b.error("texts of up to " + llvm::Twine(width) + " code points have up to " +
                         llvm::Twine(pieces.most) +
                         " pieces, which is too much; say a smaller width, --text-width=N, or "
                         "'maxsplit'");
  Value count = b.makeReshape(pieces.count, shape);
  Value largest =
      b.makeReduce(ReduceKind::Max, count, llvm::to_vector(llvm::seq<int64_t>(0, b.rankOf(count))),
                   /*keepDims=*/false);
  setCounted(b, 0, gatherPieces(b, x, pieces), int64_t(shape.size()), largest);
  b.setResult(1, castTo(b, count, b.builder.getI64Type()), DataType::Int64);
}

} // namespace mpc::onnx
