// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mpcrt.attend and mpcrt.attend_gradient: shapes, memory effects.
#include "dialects/mpcrt/IR/Mpcrt.h"

using namespace mlir;
using namespace mpc::mpcrt;

template <typename Op> static LogicalResult verifyAttention(Op op) {
  if (failed(mpc::mpcrt::detail::verifyDense(op)))
    return failure();
  Value query = op.getQuery(), key = op.getKey(), value = op.getValue(), out = op.getOut(),
        logSums = op.getLogSums(), mask = op.getMask();
  for (Value tensor : {query, key, value, out})
    if (cast<ShapedType>(tensor.getType()).getRank() != 4 ||
        getElementTypeOrSelf(tensor) != getElementTypeOrSelf(query))
      return op.emitOpError("query, key, value and out must be [batch, length, heads, width] of "
                            "one element type");
  auto shapeOf = [](Value tensor) { return cast<ShapedType>(tensor.getType()).getShape(); };
  ArrayRef<int64_t> q = shapeOf(query), k = shapeOf(key), v = shapeOf(value);
  if (q.drop_front(2) != k.drop_front(2) || q[0] != k[0] || k.drop_back() != v.drop_back() ||
      shapeOf(out) != ArrayRef<int64_t>{q[0], q[1], q[2], v[3]} ||
      shapeOf(logSums) != ArrayRef<int64_t>{q[0], q[2], q[1]})
    return op.emitOpError("query, key, value, out and log_sums disagree in their extents");
  if (getElementTypeOrSelf(logSums) != mpc::widerOf32(getElementTypeOrSelf(query)))
    return op.emitOpError() << "log_sums must be float32, or float64 of float64";
  if (bool(op.getKept()) != bool(op.getKeepScale()))
    return op.emitOpError("has kept or keep_scale without the other");
  if (op.getKept() && shapeOf(op.getKept()) != ArrayRef<int64_t>{q[0], q[2], q[1], k[1]})
    return op.emitOpError("kept must be [batch, heads, targets, sources]");
  if (op.getHiddenScore() && !mask && !op.getCausal())
    return op.emitOpError("has hidden_score and hides nothing");
  if (!mask)
    return success();
  if (op.getCausal())
    return op.emitOpError("is causal and has a mask");
  ArrayRef<int64_t> m = shapeOf(mask);
  const int64_t extents[] = {q[0], q[2], q[1], k[1]};
  if (m.size() != 4 || m[3] != k[1])
    return op.emitOpError("the mask must be [batch, heads, targets, sources]");
  for (auto [own, extent] : llvm::zip(m, extents))
    if (own != 1 && own != extent)
      return op.emitOpError("the mask's extents must be 1 or those of the scores");
  return success();
}

LogicalResult AttendOp::verify() { return verifyAttention(*this); }

LogicalResult AttendGradientOp::verify() {
  const std::pair<Value, Value> pairs[] = {{getQueryGradient(), getQuery()},
                                           {getKeyGradient(), getKey()},
                                           {getValueGradient(), getValue()}};
  for (auto [gradient, operand] : pairs)
    if (gradient.getType() != operand.getType())
      return emitOpError() << "the gradient of " << operand.getType() << " is "
                           << gradient.getType();
  return verifyAttention(*this);
}

void AttendOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  mpcrt::detail::getBufferizedCallEffects(*this, effects);
}

void AttendGradientOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  mpcrt::detail::getBufferizedCallEffects(*this, effects);
}
