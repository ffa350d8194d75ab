// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The rules that hold for every destination-style op of the dialect.
#include "dialects/mpcrt/IR/Mpcrt.h"

#include <climits>

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

bool mpc::mpcrt::detail::isDense(MemRefType type, bool isInit) {
  if (type.getLayout().isIdentity())
    return true;
  constexpr int64_t lineBits = 64 * CHAR_BIT;
  SmallVector<int64_t> strides;
  int64_t offset, dense = 1;
  if (isInit || failed(type.getStridesAndOffset(strides, offset)) ||
      ShapedType::isDynamic(offset) || offset * type.getElementTypeBitWidth() % lineBits != 0)
    return false;
  for (int64_t dim = type.getRank() - 1; dim >= 0; --dim) {
    if (strides[dim] != dense || (dim > 0 && type.isDynamicDim(dim)))
      return false;
    dense *= type.getDimSize(dim);
  }
  return true;
}

LogicalResult mpc::mpcrt::detail::verifyDense(Operation *op) {
  auto call = cast<DestinationStyleOpInterface>(op);
  for (OpOperand &operand : op->getOpOperands())
    if (auto memref = dyn_cast<MemRefType>(operand.get().getType()))
      if (!isDense(memref, call.isDpsInit(&operand)))
        return op->emitOpError() << "operands must be dense and row-major, but one is " << memref;
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
