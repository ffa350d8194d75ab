// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mpc.trace: what it may report, and that it stays.
#include "dialects/mpc/IR/Mpc.h"
#include "dialects/mpc/IR/TraceRules.h"

using namespace mlir;
using namespace mpc;

LogicalResult TraceOp::verify() { return verifyTrace(*this); }

void TraceOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  effects.emplace_back(MemoryEffects::Write::get(), TraceResource::get());
}

LogicalResult TraceOp::evaluate(ArrayRef<ReferenceTensor>, MutableArrayRef<ReferenceTensor>) {
  return success(); // It has no value.
}
