// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mpcrt.all_reduce and mpcrt.wait_for_ranks: rules, memory effects.
#include "dialects/mpcrt/IR/Mpcrt.h"

using namespace mlir;
using namespace mpc::mpcrt;

LogicalResult AllReduceOp::verify() {
  const ReduceKind kind = getKind();
  if (kind != ReduceKind::Sum && kind != ReduceKind::Max && kind != ReduceKind::Min)
    return emitOpError() << "ranks reduce by sum, max or min, not " << stringifyReduceKind(kind);
  if (!cast<ShapedType>(getOut().getType()).hasStaticShape())
    return emitOpError() << "reduces what ranks have in one shape, not the samples of a batch";
  if (getBucket() < 0)
    return emitOpError() << "has a negative bucket";
  return mpcrt::detail::verifyDense(*this);
}

LogicalResult WaitForRanksOp::verify() {
  if (!isBufferized())
    return emitOpError() << "waits for what is in a buffer";
  if (getBucket() < 0)
    return emitOpError() << "has a negative bucket";
  return mpcrt::detail::verifyDense(*this);
}

bool AllReduceOp::readsInit(OpOperand &) { return true; }
bool WaitForRanksOp::readsInit(OpOperand &) { return true; }

void AllReduceOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  mpcrt::detail::getBufferizedCallEffects(*this, effects);
}

void WaitForRanksOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  mpcrt::detail::getBufferizedCallEffects(*this, effects);
}
