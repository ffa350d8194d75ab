// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Ops of a training step.
#include "dialects/mpc/IR/Mpc.h"

using namespace mlir;
using namespace mpc;

LogicalResult OptimizerStepOp::verify() {
  auto rule = cast<OptimizerRuleAttrInterface>(getRule());
  size_t slots = rule.getSlotNames().size();
  if (getSlots().size() != slots)
    return emitOpError() << "rule has " << slots << " slots, got " << getSlots().size();
  if (getNumResults() < slots + 1)
    return emitOpError() << "returns the variable and each slot";
  auto shape = tensorTypeOf(getVariable()).getShape();
  if (tensorTypeOf(getGradient()).getShape() != shape)
    return emitOpError() << "gradient must have the variable's shape";
  for (Value slot : getSlots())
    if (tensorTypeOf(slot).getShape() != shape)
      return emitOpError() << "slots must have the variable's shape";
  if (getResult(0).getType() != getVariable().getType())
    return emitOpError() << "first result must have the variable's type";
  for (auto [slot, result] : llvm::zip(getSlots(), getResults().drop_front()))
    if (slot.getType() != result.getType())
      return emitOpError() << "slot results must have the slots' types";
  for (Value shadow : getResults().drop_front(slots + 1))
    if (tensorTypeOf(shadow).getShape() != shape)
      return emitOpError() << "shadows must have the variable's shape";
  return success();
}
