// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What every destination-style op of the dialect has in common.
#include "dialects/mpcrt/IR/Mpcrt.h"

using namespace mlir;
using namespace mpc::mpcrt;

LogicalResult mpc::mpcrt::detail::verifyBufferizedCall(Operation *op) {
  auto call = cast<DestinationStyleOpInterface>(op);
  const bool isBufferized = cast<BufferizedCallOpInterface>(op).isBufferized();
  for (Value operand : op->getOperands())
    if (isa<MemRefType>(operand.getType()) != isBufferized)
      return op->emitOpError("mixes tensors and memrefs");
  const size_t inits = call.getNumDpsInits(), results = isBufferized ? 0 : inits;
  if (op->getNumResults() != results)
    return op->emitOpError() << "has " << op->getNumResults() << " results; " << results
                             << " expected: one for each destination on tensors, none on memrefs";
  for (auto [result, init] : llvm::zip(op->getResultTypes(), call.getDpsInits()))
    if (result != init.getType())
      return op->emitOpError() << "result type " << result << " differs from out type "
                               << init.getType();
  return success();
}

void mpc::mpcrt::detail::getBufferizedCallEffects(
    Operation *op, SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  auto call = cast<BufferizedCallOpInterface>(op);
  if (!call.isBufferized())
    return;
  auto destination = cast<DestinationStyleOpInterface>(op);
  for (OpOperand &operand : op->getOpOperands()) {
    const bool isInit = destination.isDpsInit(&operand);
    if (!isInit || call.readsInit(operand))
      effects.emplace_back(MemoryEffects::Read::get(), &operand,
                           SideEffects::DefaultResource::get());
    if (isInit)
      effects.emplace_back(MemoryEffects::Write::get(), &operand,
                           SideEffects::DefaultResource::get());
  }
}

#include "dialects/mpcrt/IR/MpcrtInterfaces.cpp.inc"
