// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// StringNormalizer: other case, and lists without some words.
#include "lib/Import/Common/Shape.h"
#include "lib/Import/ONNX/CaseMapping.h"
#include "lib/Import/ONNX/OpTable.h"
#include "lib/Import/ONNX/Ops/TextParts.h"
#include "lib/Import/ONNX/Ops/TextPieces.h"

namespace mpc::onnx {
namespace {

using mlir::Value;
using B = NodeBuilder;

/// Words that are compared with each other, times their code points.
constexpr int64_t kMostCompared = int64_t(1) << 24;

Value changeCase(B &b, Value texts, Case to) {
  return b.make<AddOp>(texts, lookUp(b, texts, CodePointTable(makeCaseMapping(to))));
}

/// Which of [words, width] are none of the stop words: [words].
Value findKept(B &b, Value words, Value stopwords) {
  Value isStop = compareTexts(b, insertAxis(b, words, 1), stopwords);
  Value count = b.makeReduce(ReduceKind::Max, countTrue(b, isStop), {1}, /*keepDims=*/false);
  return b.makeCompare(ComparePredicate::EQ, count, makeNumber(b, 0));
}

/// The words that are kept, in their order; one of no letters where none is.
void leaveOut(B &b, Value words, Value isKept) {
  const int64_t count = b.shapeOf(isKept)[0], rank = b.rankOf(words);
  Value number = countTrue(b, isKept), passed = sumUpTo(b, number);
  // Row i of the result is the word with i kept ones in front of it.
  Value places = makePlaces(b, count), rows = b.makeReshape(makePlaces(b, count), {count, 1});
  Value isFor = b.make<LogicalAndOp>(
      isKept, b.makeCompare(ComparePredicate::EQ, b.make<SubtractOp>(passed, number), rows));
  Value from = b.makeReduce(ReduceKind::Min, b.makeSelect(isFor, places, makeNumber(b, count)), {1},
                            /*keepDims=*/false);
  Value kept = b.makeReduce(ReduceKind::Sum, number, {0}, /*keepDims=*/false);
  setCounted(b, 0, b.make<GatherOp>(words, from, rank - 2), rank - 2,
             b.make<MaximumOp>(kept, makeNumber(b, 1)));
}

} // namespace

void normalizeTexts(B &b) {
  Value x = getTexts(b, 0);
  const llvm::StringRef action = b.attributes.getText("case_change_action", "NONE");
  const bool isCaseSensitive = b.attributes.getFlag("is_case_sensitive");
  const auto stopwords = b.attributes.getTexts("stopwords");
  b.attributes.ignore("locale"); // simple mappings are those of no language
  if (!x)
    return;
  if (action != "NONE" && action != "LOWER" && action != "UPPER")
    return (void)b.error("the case_change_action '" + action +
                         "' is not known; expected NONE, LOWER or UPPER");
  const llvm::ArrayRef<int64_t> shape = textShapeOf(x);
  if (shape.empty() || shape.size() > 2 || (shape.size() == 2 && shape[0] != 1))
    return (void)b.error("takes texts of the shape [words] or [1, words], not " +
                         printShape(shape));
  const Case to = action == "UPPER" ? Case::upper : Case::lower;
  Value changed = action == "NONE" ? x : changeCase(b, x, to);
  if (stopwords.empty())
    return b.setResult(0, changed, DataType::String);
  const int64_t count = shape.back(), width = textWidthOf(x);
  if (mlir::ShapedType::isDynamic(count))
    return (void)b.errorOfOpenBatch("leaves words out, and their number is the open batch");
  Value stops = makeTexts(b, stopwords);
  if (!stops)
    return;
  if (b.shapeOf(stops)[0] > kMostCompared / std::max<int64_t>(width, textWidthOf(stops)))
    return (void)b.error("has too many stop words: at most 2^24 code points");
  // Words are the same but for case where they are with small (or large) letters.
  Value compared = isCaseSensitive ? x : changeCase(b, x, to);
  if (!isCaseSensitive)
    stops = changeCase(b, stops, to);
  Value isKept = findKept(b, b.makeReshape(compared, {count, width}), stops);
  leaveOut(b, changed, isKept);
}

} // namespace mpc::onnx
