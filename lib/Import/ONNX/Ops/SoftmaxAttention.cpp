// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Attention that Forms/ found in a graph: scores are scaled, masked and normalised in float32 or
// wider, and long ones become one call, as those of Keras's layers.
#include "lib/Import/Common/DotProductAttention.h"
#include "lib/Import/Common/Shape.h"
#include "lib/Import/ONNX/NodeBuilder.h"
#include "lib/Import/ONNX/OpTable.h"
#include "lib/Import/ONNX/Ops/Products.h"

namespace mpc::onnx {
namespace {

using mlir::Value;
using B = NodeBuilder;
using Extents = llvm::SmallVector<int64_t>;

/// A score from here on down has no probability beside any other.
constexpr double kHiddenScore = -1e30;

/// The sources that a constant mask shows, which adds zeros and hides; null for every other mask,
/// and for one that hides all sources of a target, whose probabilities its numbers decide.
Value findVisible(B &b, unsigned input) {
  const Literal *mask = b.getLiteral(input);
  if (!mask || mask->isInteger() || mask->tensor.shape.empty())
    return {};
  const int64_t sources = mask->tensor.shape.back();
  llvm::SmallVector<bool> visible;
  bool isAny = true;
  for (int64_t i = 0, count = mask->tensor.size(); i < count; ++i) {
    if (i % sources == 0) {
      if (!isAny)
        return {};
      isAny = false;
    }
    const double score = mask->tensor.at(i);
    if (score != 0 && !(score <= kHiddenScore))
      return {};
    visible.push_back(score == 0);
    isAny |= visible.back();
  }
  return isAny ? b.makeMask(mask->tensor.shape, visible) : Value();
}

/// The mask of 3 dimensions as one of 4, for scores that have one head.
Value withHead(B &b, Value mask) {
  if (!mask || b.rankOf(mask) != 3)
    return mask;
  llvm::ArrayRef<int64_t> shape = b.shapeOf(mask);
  return b.makeReshape(mask, {shape[0], 1, shape[1], shape[2]});
}

/// Node by node: of tensors whose leading dimensions broadcast.
Value writeOut(B &b, Value query, Value transposedKey, Value value, double scale) {
  Value scores = multiplyMatrices(b, query, transposedKey);
  if (!scores)
    return {};
  scores = b.make<MultiplyOp>(b.makeCastLike(scores, scores, /*wide=*/true), b.makeConstant(scale));
  if (b.has(3)) {
    Value mask = b.get(3);
    if (!mask || !b.checkBroadcast({scores, mask}))
      return {};
    scores = b.make<AddOp>(scores, mask);
  }
  Value probabilities = b.make<SoftmaxOp>(scores, b.rankOf(scores) - 1);
  return multiplyMatrices(b, b.makeCastLike(probabilities, value), value);
}

void softmaxAttention(B &b) {
  Value query = b.get(0), key = b.get(1), value = b.get(2);
  if (!query || !key || !value)
    return;
  const int64_t rank = b.rankOf(query);
  const double scale = b.attributes.getNumber("scale", 1.0);
  const auto leading = [&](Value x) { return b.shapeOf(x).drop_back(2); };
  bool isBatchFirst = true; // where it is open
  for (unsigned i = 0; i < b.getInputCount(); ++i)
    isBatchFirst &= b.isBatchFirst(i);
  const bool isPlain = (rank == 3 || rank == 4) && isBatchFirst && b.isFloat(query) &&
                       b.rankOf(key) == rank && b.rankOf(value) == rank &&
                       leading(query) == leading(key) && leading(query) == leading(value) &&
                       b.shapeOf(query).back() == b.shapeOf(key)[size_t(rank) - 2] &&
                       b.shapeOf(key).back() == b.shapeOf(value)[size_t(rank) - 2] &&
                       (!b.has(3) || int64_t(b.getShape(3).size()) <= rank) &&
                       elementTypeOf(query) == elementTypeOf(key) &&
                       elementTypeOf(query) == elementTypeOf(value);
  if (!isPlain) {
    if (Value y = writeOut(b, query, key, value, scale))
      b.setResult(0, y);
    return;
  }
  DotProductAttention attention;
  attention.scale = scale;
  if (b.has(3)) {
    attention.mask = withHead(b, findVisible(b, 3));
    if (!attention.mask)
      attention.bias = withHead(b, b.get(3));
    Extents scores(leading(query));
    scores.append({b.shapeOf(query)[size_t(rank) - 2], b.shapeOf(key).back()});
    auto shared = broadcastShapes({scores, b.getShape(3)});
    if (failed(shared) || llvm::ArrayRef(*shared) != llvm::ArrayRef(scores))
      return (void)b.error("the mask does not broadcast to the scores");
  }
  // [batch, places, heads, width]
  const auto split = [&](Value x, Extents order) -> Value {
    if (rank == 4)
      return b.make<TransposeOp>(x, order);
    llvm::ArrayRef<int64_t> shape = b.shapeOf(x);
    return b.makeReshape(x, {shape[0], shape[1], 1, shape[2]});
  };
  attention.query = split(query, {0, 2, 1, 3});
  attention.key =
      rank == 4 ? split(key, {0, 3, 1, 2}) : split(b.make<TransposeOp>(key, Extents{0, 2, 1}), {});
  attention.value = split(value, {0, 2, 1, 3});
  Value y = attention.build(b);
  if (!y)
    return;
  y = rank == 4 ? b.make<TransposeOp>(y, Extents{0, 2, 1, 3})
                : b.makeReshape(y, {b.shapeOf(y)[0], b.shapeOf(y)[1], b.shapeOf(y)[3]});
  b.setResult(0, y);
}

constexpr OpEntry kTable[] = {
    {"SoftmaxAttention", 1, softmaxAttention, nullptr, OpenBatch::anywhere, "mpc.form"},
};

} // namespace

llvm::ArrayRef<OpEntry> getSoftmaxAttentionOps() { return kTable; }

} // namespace mpc::onnx
