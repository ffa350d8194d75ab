// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The cast op: which pairs are legal, what it computes, its adjoint.
#include "dialects/mpc/IR/Mpc.h"

using namespace mlir;
using namespace mpc;

Value mpc::castElements(OpBuilder &builder, Location loc, Value value, Type elementType) {
  auto type = tensorTypeOf(value);
  return type.getElementType() == elementType
             ? value
             : Value(CastOp::create(builder, loc, type.clone(elementType), value));
}

bool CastOp::areCastCompatible(TypeRange inputs, TypeRange outputs) {
  if (inputs.size() != 1 || outputs.size() != 1)
    return false;
  auto from = dyn_cast<RankedTensorType>(inputs.front()),
       to = dyn_cast<RankedTensorType>(outputs.front());
  return from && to && from.getShape() == to.getShape();
}

OpFoldResult CastOp::fold(FoldAdaptor) {
  // Only the identity folds; simplification of pairs is mpc-simplify-casts's decision, with
  // remarks.
  return getInput().getType() == getType() ? getInput() : OpFoldResult();
}

LogicalResult CastOp::buildVjp(OpBuilder &builder, ValueRange cotangents, ArrayRef<bool>,
                               MutableArrayRef<Value> operandCotangents) {
  if (isa<FloatType>(elementTypeOf(getInput())) && isa<FloatType>(elementTypeOf(getResult())))
    operandCotangents[0] = CastOp::create(builder, getLoc(), getInput().getType(), cotangents[0]);
  return success();
}

LogicalResult CastOp::evaluate(ArrayRef<ReferenceTensor> operands,
                               MutableArrayRef<ReferenceTensor> results) {
  const ReferenceTensor &from = operands[0];
  ReferenceTensor &to = results[0];
  to.elementType = elementTypeOf(getResult());
  to.shape = from.shape;
  to.allocate();
  for (int64_t i = 0, count = to.size(); i < count; ++i) {
    if (to.elementType.isInteger(1))
      to.integers[i] = from.at(i) != 0;
    else if (from.isFloating() || to.isFloating())
      to.set(i, from.at(i));
    else
      to.set(i, from.integerAt(i));
  }
  return success();
}

bool CastOp::isCheapToRecompute() { return true; }
