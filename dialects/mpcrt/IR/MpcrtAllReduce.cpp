// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Ops that reduce and gather over ranks: rules, memory effects.
#include "dialects/mpcrt/IR/Mpcrt.h"

using namespace mlir;
using namespace mpc::mpcrt;

/// Every op of ranks keeps to this.
template <typename Op> static LogicalResult verifyExchange(Op op, StringRef what) {
  if (!cast<ShapedType>(op.getOut().getType()).hasStaticShape())
    return op.emitOpError() << what << " what ranks have in one shape, not the samples of a batch";
  if (static_cast<int64_t>(op.getBucket()) < 0)
    return op.emitOpError() << "has a negative bucket";
  return mpc::mpcrt::detail::verifyDense(op);
}

template <typename Op> static LogicalResult verifyReduction(Op op) {
  using mpc::ReduceKind;
  const ReduceKind kind = op.getKind();
  if (kind != ReduceKind::Sum && kind != ReduceKind::Max && kind != ReduceKind::Min)
    return op.emitOpError() << "ranks reduce by sum, max or min, not "
                            << mpc::stringifyReduceKind(kind);
  if (op.getInBfloat16() &&
      (kind != ReduceKind::Sum || !getElementTypeOrSelf(op.getOut().getType()).isF32()))
    return op.emitOpError() << "goes in bfloat16, which sums of f32 alone may";
  return verifyExchange(op, "reduces");
}

LogicalResult AllReduceOp::verify() { return verifyReduction(*this); }

LogicalResult ReduceScatterOp::verify() {
  if (!isBufferized())
    return emitOpError() << "leaves parts of what is in a buffer";
  return verifyReduction(*this);
}

LogicalResult AllGatherOp::verify() {
  if (!isBufferized())
    return emitOpError() << "gathers what is in a buffer";
  return verifyExchange(*this, "gathers");
}

LogicalResult WaitForRanksOp::verify() {
  if (!isBufferized())
    return emitOpError() << "waits for what is in a buffer";
  return verifyExchange(*this, "waits for");
}

LogicalResult OwnPartOp::verify() {
  if (static_cast<int64_t>(getElements()) < 0)
    return emitOpError() << "has a negative number of elements";
  return success();
}

bool AllReduceOp::readsInit(OpOperand &) { return true; }
bool ReduceScatterOp::readsInit(OpOperand &) { return true; }
bool AllGatherOp::readsInit(OpOperand &) { return true; }
bool WaitForRanksOp::readsInit(OpOperand &) { return true; }

void ReduceScatterOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  mpcrt::detail::getBufferizedCallEffects(*this, effects);
}

void AllGatherOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  mpcrt::detail::getBufferizedCallEffects(*this, effects);
}

void AllReduceOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  mpcrt::detail::getBufferizedCallEffects(*this, effects);
}

void WaitForRanksOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  mpcrt::detail::getBufferizedCallEffects(*this, effects);
}
