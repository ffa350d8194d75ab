// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mpcrt.attend and mpcrt.attend_gradient: shapes, memory effects.
#include "dialects/mpcrt/IR/Mpcrt.h"

using namespace mlir;
using namespace mpc::mpcrt;

static LogicalResult verifyAttention(Operation *op, Value query, Value key, Value value, Value out,
                                     Value logSums) {
  if (failed(mpc::mpcrt::detail::verifyDense(op)))
    return failure();
  for (Value tensor : {query, key, value, out})
    if (cast<ShapedType>(tensor.getType()).getRank() != 4 ||
        getElementTypeOrSelf(tensor) != getElementTypeOrSelf(query))
      return op->emitOpError("query, key, value and out must be [batch, places, heads, width] of "
                             "one element type");
  auto shapeOf = [](Value tensor) { return cast<ShapedType>(tensor.getType()).getShape(); };
  ArrayRef<int64_t> q = shapeOf(query), k = shapeOf(key), v = shapeOf(value);
  if (q.drop_front(2) != k.drop_front(2) || q[0] != k[0] || k.drop_back() != v.drop_back() ||
      shapeOf(out) != ArrayRef<int64_t>{q[0], q[1], q[2], v[3]} ||
      shapeOf(logSums) != ArrayRef<int64_t>{q[0], q[2], q[1]})
    return op->emitOpError("query, key, value, out and log_sums disagree in their extents");
  if (getElementTypeOrSelf(logSums) != mpc::widerOf32(getElementTypeOrSelf(query)))
    return op->emitOpError() << "log_sums must be float32, or float64 of float64";
  return success();
}

LogicalResult AttendOp::verify() {
  return verifyAttention(*this, getQuery(), getKey(), getValue(), getOut(), getLogSums());
}

LogicalResult AttendGradientOp::verify() {
  const std::pair<Value, Value> pairs[] = {{getQueryGradient(), getQuery()},
                                           {getKeyGradient(), getKey()},
                                           {getValueGradient(), getValue()}};
  for (auto [gradient, operand] : pairs)
    if (gradient.getType() != operand.getType())
      return emitOpError() << "the gradient of " << operand.getType() << " is "
                           << gradient.getType();
  return verifyAttention(*this, getQuery(), getKey(), getValue(), getOut(), getLogSums());
}

void AttendOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  mpcrt::detail::getBufferizedCallEffects(*this, effects);
}

void AttendGradientOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  mpcrt::detail::getBufferizedCallEffects(*this, effects);
}
