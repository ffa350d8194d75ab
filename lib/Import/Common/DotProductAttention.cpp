// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Import/Common/DotProductAttention.h"
#include "lib/Import/Common/PositionMasks.h"

namespace mpc {

using mlir::Value;

Value makeAnd(ValueBuilder &b, Value lhs, Value rhs) {
  if (!lhs || !rhs)
    return lhs ? lhs : rhs;
  if (failed(broadcastShapes({b.shapeOf(lhs), b.shapeOf(rhs)})))
    return b.error("the masks of the layer's places have shapes that do not broadcast");
  return b.make<LogicalAndOp>(lhs, rhs);
}

Value repeatHeads(ValueBuilder &b, Value value, int64_t times) {
  if (times == 1)
    return value;
  llvm::SmallVector<int64_t> places;
  for (int64_t head = 0; head < b.shapeOf(value)[2]; ++head)
    places.append(times, head);
  return b.make<GatherOp>(value, b.makeIndices(int64_t(places.size()), places), int64_t(2),
                          int64_t(0));
}

Value DotProductAttention::build(ValueBuilder &b) const {
  const llvm::SmallVector<Value> all = {query, key, value};
  for (Value tensor : all)
    if (b.rankOf(tensor) != 4)
      return b.error("attention takes tensors of 4 dimensions, [batch, places, heads, width]");
  Value q = b.makeCastLike(query, all), k = b.makeCastLike(key, all),
        v = b.makeCastLike(value, all);
  const int64_t heads = b.shapeOf(q)[2], keyHeads = b.shapeOf(k)[2];
  if (heads > keyHeads && keyHeads > 1) {
    if (heads % keyHeads != 0)
      return b.error("the heads of the query are no multiple of those of the key");
    k = repeatHeads(b, k, heads / keyHeads);
    v = repeatHeads(b, v, heads / keyHeads);
  }
  Value logits = b.makeEinsum("btnh,bsnh->bnts", {q, k});
  if (!logits)
    return {};
  logits = b.make<MultiplyOp>(b.makeCastLike(logits, logits, /*wide=*/true), b.makeConstant(scale));
  if (bias)
    logits = b.make<AddOp>(logits, bias);
  Value visible = mask;
  if (causal)
    visible = makeAnd(b, visible, makeCausalMask(b, b.shapeOf(logits)[2], b.shapeOf(logits)[3]));
  if (visible) {
    if (failed(broadcastShapes({b.shapeOf(visible), b.shapeOf(logits)})) || b.rankOf(visible) > 4)
      return b.error("the attention mask does not broadcast to [batch, heads, targets, sources]");
    logits = b.makeSelect(visible, logits, b.makeConstant(-0.7 * 3.38953e38));
  }
  Value probabilities = b.makeCastLike(b.make<SoftmaxOp>(logits, int64_t(3)), k);
  return b.makeEinsum("bnts,bsnh->btnh", {probabilities, v});
}

} // namespace mpc
