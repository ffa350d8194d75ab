// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mpcrt.scatter_add: shapes, memory effects.
#include "dialects/mpcrt/IR/Mpcrt.h"

using namespace mlir;
using namespace mpc::mpcrt;

LogicalResult ScatterAddOp::verify() {
  auto indices = cast<ShapedType>(getIndices().getType()),
       updates = cast<ShapedType>(getUpdates().getType()),
       out = cast<ShapedType>(getOut().getType());
  const int64_t rank = updates.getRank(), indexRank = indices.getRank();
  if (out.getRank() != rank || indexRank < 1 ||
      (rank == 2 ? indexRank > 1 : rank != 3 || indexRank > 2))
    return emitOpError("takes updates and out of rank 3 and indices of rank 1 or 2, or updates and "
                       "out of rank 2 and indices of rank 1");
  if (!out.getElementType().isF32() && !out.getElementType().isF64())
    return emitOpError() << "accumulates in float32 or float64, but out has "
                         << out.getElementType();
  if (indices.getShape().back() != updates.getDimSize(rank - 2) ||
      (indexRank == 2 && indices.getDimSize(0) != updates.getDimSize(0)))
    return emitOpError("indices name the last dimension but one of the updates");
  if ((rank == 3 && updates.getDimSize(0) != out.getDimSize(0)) ||
      updates.getShape().back() != out.getShape().back())
    return emitOpError("updates and out differ in the first or last extent");
  return success();
}

bool ScatterAddOp::readsInit(OpOperand &) { return true; }

void ScatterAddOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  mpcrt::detail::getBufferizedCallEffects(*this, effects);
}
