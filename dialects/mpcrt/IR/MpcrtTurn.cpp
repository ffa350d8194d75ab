// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mpcrt.turn: shapes, memory effects, readers.
#include "dialects/mpc/IR/Float8.h"
#include "dialects/mpcrt/IR/Turn.h"

using namespace mlir;
using namespace mpc::mpcrt;

/// On tensors a value has the op that made it; on buffers the conversion has kept the two together.
static bool isReadAsTurned(OpOperand &use) {
  auto contract = dyn_cast<ContractOp>(use.getOwner());
  if (!contract)
    return false;
  return (&use == &contract.getLhsMutable() && contract->hasAttr(kTurnedLhsAttr)) ||
         (&use == &contract.getRhsMutable() && contract->hasAttr(kTurnedRhsAttr));
}

LogicalResult TurnOp::verify() {
  auto numbers = cast<ShapedType>(getNumbers().getType()),
       out = cast<ShapedType>(getOut().getType());
  if (numbers.getRank() != 2 || numbers.getShape() != out.getShape() ||
      numbers.getElementType() != out.getElementType())
    return emitOpError("takes a matrix and one of its shape and element type for the result");
  for (Value result : getResults())
    for (OpOperand &use : result.getUses())
      if (!isReadAsTurned(use))
        return emitOpError(
            "gives what only an mpcrt.contract reads that knows of it, as an operand "
            "that is turned");
  return mpcrt::detail::verifyDense(*this);
}

void TurnOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  mpcrt::detail::getBufferizedCallEffects(*this, effects);
}

LogicalResult mpc::mpcrt::verifyTurned(Operation *op, NamedAttribute attribute) {
  if (attribute.getName() == kTurnsAttr)
    return op->hasAttr(MpcrtDialect::kKernelAttr)
               ? success()
               : LogicalResult(op->emitOpError() << kTurnsAttr << " is for kernels");
  auto contract = dyn_cast<ContractOp>(op);
  auto lhs = contract ? cast<ShapedType>(contract.getLhs().getType()) : ShapedType();
  if (!lhs || lhs.getRank() != 2 || !mpc::isFloat8(lhs.getElementType()))
    return op->emitOpError() << attribute.getName()
                             << " is for mpcrt.contract of matrices of float8";
  return success();
}

#define GET_OP_CLASSES
#include "dialects/mpcrt/IR/MpcrtTurnOp.cpp.inc"
