// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Operations on texts, as operations on their code points.
#include "lib/Import/Common/Shape.h"
#include "lib/Import/ONNX/GraphImporter.h"
#include "lib/Import/ONNX/OpTable.h"
#include "lib/Import/ONNX/Ops/TextMovement.h"
#include "lib/Import/ONNX/Ops/TextParts.h"
#include "lib/Import/ONNX/Ops/TextPieces.h"
#include "lib/Import/ONNX/Regex/Automaton.h"

namespace mpc::onnx {
namespace {

using mlir::Value;
using B = NodeBuilder;
using Extents = llvm::SmallVector<int64_t>;

// ---- Equality and choice ------------------------------------------------------------------------

void equal(B &b) {
  Value x = getTexts(b, 0), y = x ? getTexts(b, 1) : Value();
  if (!y)
    return;
  // The widths are no extents that could differ.
  const int64_t width = std::max(textWidthOf(x), textWidthOf(y));
  x = padTexts(b, x, width);
  y = padTexts(b, y, width);
  if (b.checkBroadcast({x, y}))
    b.setResult(0, compareTexts(b, x, y));
}

void where(B &b) {
  Value condition = b.get(0), x = condition ? getTexts(b, 1) : Value(),
        y = x ? getTexts(b, 2) : Value();
  if (!y)
    return;
  const int64_t width = std::max(textWidthOf(x), textWidthOf(y));
  x = padTexts(b, x, width);
  y = padTexts(b, y, width);
  if (!elementTypeOf(condition).isInteger(1))
    return (void)b.error("takes truth values and two tensors of one type");
  condition = insertAxis(b, condition, b.rankOf(condition));
  if (b.checkBroadcast({condition, x, y}))
    b.setResult(0, b.makeSelect(condition, x, y), DataType::String);
}

void concatenate(B &b) {
  llvm::SmallVector<Value> parts;
  int64_t width = 1;
  for (unsigned i = 0; i < b.getInputCount(); ++i) {
    Value part = getTexts(b, i);
    if (!part)
      return;
    // Tensors without elements add nothing.
    if (!llvm::is_contained(textShapeOf(part), 0) || (parts.empty() && i + 1 == b.getInputCount()))
      parts.push_back(part);
    width = std::max(width, textWidthOf(part));
  }
  if (parts.empty())
    return (void)b.error("has no inputs");
  const int64_t rank = b.rankOf(parts.front()) - 1;
  std::optional<int64_t> axis = b.resolveAxis(b.attributes.getInteger("axis", 0), rank);
  if (!axis)
    return;
  for (Value &part : parts) {
    part = padTexts(b, part, width);
    bool fits = b.rankOf(part) == rank + 1;
    for (int64_t d = 0; fits && d < rank; ++d)
      fits = d == *axis ? !mlir::ShapedType::isDynamic(b.shapeOf(part)[d])
                        : b.shapeOf(part)[d] == b.shapeOf(parts.front())[d];
    if (!fits)
      return (void)b.error("the shapes " + printShape(textShapeOf(parts.front())) + " and " +
                           printShape(textShapeOf(part)) + " do not fit along axis " +
                           llvm::Twine(*axis));
  }
  b.setResult(0, parts.size() == 1 ? parts.front() : b.make<ConcatenateOp>(parts, *axis),
              DataType::String);
}

// ---- One text of two ----------------------------------------------------------------------------

/// `x` as it broadcasts with `y` but for the last dimension.
Value broadcastTexts(B &b, Value x, Value y) {
  if (textShapeOf(x) == textShapeOf(y))
    return x;
  Value one = b.make<SliceOp>(y, b.rankOf(y) - 1, int64_t(0), int64_t(1));
  Value zero = b.makeSelect(ComparePredicate::EQ, one, one, makeNumber(b, 0), one);
  return b.make<AddOp>(x, zero);
}

/// Code points of the second text stand behind the last of the first one.
void stringConcat(B &b) {
  Value x = getTexts(b, 0), y = x ? getTexts(b, 1) : Value();
  if (!y)
    return;
  const int64_t first = textWidthOf(x), width = first + textWidthOf(y);
  if (width > kMostTextWidth)
    return (void)b.error("the result has up to " + llvm::Twine(width) + " code points; at most " +
                         llvm::Twine(kMostTextWidth) +
                         " are supported: say smaller widths, --text-width=N");
  // Both have a last dimension that broadcasts.
  Value lengths[] = {measureTexts(b, x), measureTexts(b, y)};
  if (!b.checkBroadcast(lengths))
    return;
  x = broadcastTexts(b, x, y);
  y = broadcastTexts(b, y, x);
  Value length = measureTexts(b, x), places = makePlaces(b, width);
  Value behind = b.make<AddOp>(b.make<SubtractOp>(places, length), makeNumber(b, first));
  Value from = b.makeSelect(ComparePredicate::LT, places, length, places, behind);
  Value both = b.make<ConcatenateOp>(mlir::ValueRange{x, y}, b.rankOf(x) - 1);
  b.setResult(0, takeAlongLast(b, both, from), DataType::String);
}

// ---- Patterns -----------------------------------------------------------------------------------

/// The pattern is an automaton, which takes a step for a code point.
void regexFullMatch(B &b) {
  Value x = getTexts(b, 0);
  const llvm::StringRef pattern = b.attributes.getText("pattern");
  if (!x)
    return;
  llvm::Expected<Automaton> automaton = makeAutomaton(pattern);
  if (!automaton)
    return (void)b.error("the pattern '" + pattern + "' " + llvm::toString(automaton.takeError()) +
                         "; expected a regular expression in RE2's syntax");
  const int64_t states = int64_t(automaton->accepts.size()), count = automaton->classCount;
  Extents accepts;
  for (bool accept : automaton->accepts)
    accepts.push_back(accept);
  Value table = makeNumbers(b, {states * count}, automaton->next);
  Value classes = lookUp(b, x, CodePointTable(automaton->classes));
  Value last =
      scanTexts(b, classes, 0, [&](Value state, Value own) {
        Value row = b.make<MultiplyOp>(state, makeNumber(b, count));
        return std::pair(b.make<GatherOp>(table, b.make<AddOp>(row, own), int64_t(0)), Value());
      }).last;
  Value isMatch = b.make<GatherOp>(makeNumbers(b, {states}, accepts), last, int64_t(0));
  b.setResult(0, b.makeCompare(ComparePredicate::EQ, isMatch, makeNumber(b, 1)));
}

constexpr OpEntry kTable[] = {
    {"CategoryMapper", 1, nullptr, nullptr, OpenBatch::first, "ai.onnx.ml"},
    {"Concat", 4, concatenate},
    {"Equal", 19, equal},
    {"Expand", 8, nullptr, moveTexts, OpenBatch::moved, "", true},
    {"Flatten", 9, nullptr, moveTexts, OpenBatch::moved, "", true},
    {"Gather", 1, nullptr, moveTexts, OpenBatch::moved, "", true},
    {"Identity", 1},
    {"LabelEncoder", 1, nullptr, nullptr, OpenBatch::first, "ai.onnx.ml"},
    {"RegexFullMatch", 20, regexFullMatch},
    {"Reshape", 5, nullptr, moveTexts, OpenBatch::moved, "", true},
    {"Shape", 1},
    {"Size", 1},
    {"Slice", 1, nullptr, moveTexts, OpenBatch::moved, "", true},
    {"Split", 2, nullptr, moveTexts, OpenBatch::moved, "", true},
    {"Squeeze", 1, nullptr, moveTexts, OpenBatch::moved, "", true},
    {"StringConcat", 20, stringConcat},
    {"StringNormalizer", 10, normalizeTexts},
    {"StringSplit", 20, splitTexts},
    {"Tile", 6, nullptr, moveTexts, OpenBatch::moved, "", true},
    {"Transpose", 1, nullptr, moveTexts, OpenBatch::moved, "", true},
    {"Unsqueeze", 1, nullptr, moveTexts, OpenBatch::moved, "", true},
    {"Where", 9, where},
};

} // namespace

llvm::ArrayRef<OpEntry> getTextOps() { return kTable; }

} // namespace mpc::onnx
