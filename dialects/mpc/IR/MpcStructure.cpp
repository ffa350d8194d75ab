// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Variables and layers.
#include "dialects/mpc/IR/Mpc.h"

using namespace mlir;
using namespace mpc;

void VariableOp::build(OpBuilder &builder, OperationState &state, StringRef name,
                       RankedTensorType type, VariableRole role, InitializerAttr initializer) {
  build(builder, state, builder.getStringAttr(name), TypeAttr::get(type),
        VariableRoleAttr::get(builder.getContext(), role), /*layer=*/StringAttr(), initializer,
        /*regularizer=*/RegularizerAttr(), /*autocast=*/builder.getBoolAttr(true),
        /*shadow_of=*/FlatSymbolRefAttr());
}

LogicalResult VariableOp::verify() {
  auto type = dyn_cast<RankedTensorType>(getType());
  if (!type || !type.hasStaticShape())
    return emitOpError() << "must have a static shape, got " << getType();
  bool floating = isa<FloatType>(type.getElementType());
  if (getRole() == VariableRole::Trainable && !floating)
    return emitOpError() << "trainable variables are floating, got " << type;
  if ((getRole() == VariableRole::Shadow) != getShadowOf().has_value())
    return emitOpError() << "role shadow and shadow_of belong together";
  return success();
}

LogicalResult LayerOp::verify() {
  Block &body = getBody().front();
  if (body.getNumArguments() != getNumOperands())
    return emitOpError() << "body has " << body.getNumArguments() << " arguments for "
                         << getNumOperands() << " operands";
  for (auto [argument, operand] : llvm::zip_equal(body.getArguments(), getOperands()))
    if (argument.getType() != operand.getType())
      return emitOpError() << "body argument " << argument.getArgNumber() << " has type "
                           << argument.getType() << " for an operand of type " << operand.getType();
  auto yield = cast<YieldOp>(body.getTerminator());
  if (yield.getValues().getTypes() != getResultTypes())
    return emitOpError() << "yields other types than its results have";
  return success();
}
