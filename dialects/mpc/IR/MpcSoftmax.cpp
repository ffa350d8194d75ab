// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Softmax, its logarithm, and the fused cross-entropy.
#include "dialects/mpc/IR/Mpc.h"

using namespace mlir;
using namespace mpc;

static LogicalResult verifyAxis(Operation *op, int64_t axis, int64_t rank) {
  if (axis < 0 || axis >= rank)
    return op->emitOpError() << "axis " << axis << " is out of range for rank " << rank;
  return success();
}

LogicalResult SoftmaxOp::verify() { return verifyAxis(*this, getAxis(), tensorTypeOf(getInput()).getRank()); }
LogicalResult LogSoftmaxOp::verify() { return verifyAxis(*this, getAxis(), tensorTypeOf(getInput()).getRank()); }
PrecisionClass SoftmaxOp::getPrecisionClass() { return PrecisionClass::Keep32; }
PrecisionClass LogSoftmaxOp::getPrecisionClass() { return PrecisionClass::Keep32; }

LogicalResult SoftmaxCrossEntropyOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                                      ValueRange operands, DictionaryAttr, OpaqueProperties,
                                                      RegionRange, SmallVectorImpl<Type> &types) {
  auto logits = tensorTypeOf(operands[0]);
  if (logits.getRank() == 0)
    return emitOptionalError(location, "logits must have at least one dimension");
  types.push_back(RankedTensorType::get(logits.getShape().drop_back(), logits.getElementType()));
  return success();
}

LogicalResult SoftmaxCrossEntropyOp::verify() {
  if (getLogits().getType() != getTarget().getType())
    return emitOpError() << "logits and target must have the same type";
  return success();
}

PrecisionClass SoftmaxCrossEntropyOp::getPrecisionClass() { return PrecisionClass::Keep32; }
