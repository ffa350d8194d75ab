// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mpcrt.trace: verifier and memory effects.
#include "dialects/mpc/IR/TraceRules.h"
#include "dialects/mpcrt/IR/Mpcrt.h"

using namespace mlir;
using namespace mpc::mpcrt;

LogicalResult TraceOp::verify() {
  for (Value operand : getOperation()->getOperands()) {
    if (isa<MemRefType>(operand.getType()) != isa<MemRefType>(getValue().getType()))
      return emitOpError("mixes tensors and memrefs");
    if (auto memref = dyn_cast<MemRefType>(operand.getType()))
      if (!detail::isDense(memref, /*isInit=*/false))
        return emitOpError() << "operands must be dense and row-major, but one is " << memref;
  }
  return mpc::verifyTrace(*this, getChange());
}

void TraceOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  effects.emplace_back(MemoryEffects::Write::get(), mpc::TraceResource::get());
  for (OpOperand &operand : getOperation()->getOpOperands())
    if (isa<MemRefType>(operand.get().getType()))
      effects.emplace_back(MemoryEffects::Read::get(), &operand,
                           SideEffects::DefaultResource::get());
}
