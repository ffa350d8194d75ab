// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Ops that depend on the policy, the mode, or differentiation: verifiers, derivatives, values.
#include "dialects/mpc/IR/Mpc.h"

using namespace mlir;
using namespace mpc;

// ---- cast_like ----------------------------------------------------------------------------------

LogicalResult CastLikeOp::verify() {
  if (getTo() ? !getLike().empty() || getWide() : getLike().empty())
    return emitOpError() << "needs either tensors whose type it takes, or 'to'";
  if (tensorTypeOf(getInput()).getShape() != tensorTypeOf(getResult()).getShape())
    return emitOpError() << "must keep the shape";
  if (getTo() && !isa<FloatType>(*getTo()))
    return emitOpError() << "'to' must be a floating type, got " << *getTo();
  Type element;
  for (Value like : getLike())
    element = promoteFloats(element, elementTypeOf(like));
  if (getTo())
    element = Float32Type::get(getContext()); // as every floating tensor before the casts
  else if (getWide())
    element = widerOf32(element);
  if (elementTypeOf(getResult()) != element)
    return emitOpError() << "result must have element type " << element;
  return success();
}

LogicalResult CastLikeOp::evaluate(ArrayRef<ReferenceTensor> operands,
                                   MutableArrayRef<ReferenceTensor> results) {
  startReference(results[0], elementTypeOf(getResult()), operands[0].shape);
  for (int64_t i = 0, count = operands[0].size(); i < count; ++i)
    results[0].set(i, getTo() ? roundTo(*getTo(), operands[0].at(i)) : operands[0].at(i));
  return success();
}

// ---- in_training --------------------------------------------------------------------------------

Value InTrainingOp::getInferenceValue() { return getInference(); }
Value InTrainingOp::getTrainingValue() { return getTraining(); }

LogicalResult InTrainingOp::buildVjp(OpBuilder &, ValueRange cotangents, ArrayRef<bool> wanted,
                                     MutableArrayRef<Value> operandCotangents) {
  if (wanted[0])
    operandCotangents[0] = cotangents[0];
  return success();
}

LogicalResult InTrainingOp::evaluate(ArrayRef<ReferenceTensor> operands,
                                     MutableArrayRef<ReferenceTensor> results) {
  results[0] = operands[0];
  return success();
}

// ---- stop_gradient ------------------------------------------------------------------------------

LogicalResult StopGradientOp::buildVjp(OpBuilder &, ValueRange, ArrayRef<bool>,
                                       MutableArrayRef<Value>) {
  return success();
}

LogicalResult StopGradientOp::evaluate(ArrayRef<ReferenceTensor> operands,
                                       MutableArrayRef<ReferenceTensor> results) {
  results[0] = operands[0];
  return success();
}
