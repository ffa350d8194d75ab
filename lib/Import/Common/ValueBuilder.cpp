// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Import/Common/ValueBuilder.h"

#include "lib/Import/Common/Einsum.h"

namespace mpc {

using mlir::Value;

Value ValueBuilder::makeNot(Value condition) {
  return makeCompare(ComparePredicate::EQ, condition, makeScalar(builder.getI1Type(), 0));
}

Value ValueBuilder::makeBool(Value value) {
  const mlir::Type type = elementTypeOf(value);
  return type.isInteger(1) ? value : makeCompare(ComparePredicate::NE, value, makeScalar(type, 0));
}

Value ValueBuilder::makeCastLike(Value value, mlir::ValueRange like, bool wide) {
  // In the phase import every floating tensor is float32.
  auto type = mlir::RankedTensorType::get(shapeOf(value), builder.getF32Type());
  return make<CastLikeOp>(type, value, like, wide, mlir::TypeAttr());
}

Value ValueBuilder::makeCastTo(Value value, mlir::Type elementType) {
  auto type = mlir::RankedTensorType::get(shapeOf(value), builder.getF32Type());
  return make<CastLikeOp>(type, value, mlir::ValueRange(), /*wide=*/false,
                          mlir::TypeAttr::get(elementType));
}

Value ValueBuilder::makeCastToFloat(Value value) {
  return make<CastOp>(mlir::RankedTensorType::get(shapeOf(value), builder.getF32Type()), value);
}

Value ValueBuilder::makeConstantOr(double number, double half) {
  Value wide = makeConstant(number);
  return makeSelect(make<IsFiniteOp>(wide), wide, makeConstant(half));
}

Value ValueBuilder::makeReshape(Value value, llvm::ArrayRef<int64_t> shape) {
  if (shapeOf(value) == shape)
    return value;
  return make<ReshapeOp>(mlir::RankedTensorType::get(shape, elementTypeOf(value)), value);
}

Value ValueBuilder::makeEinsum(llvm::StringRef equation, llvm::ArrayRef<Value> operands) {
  llvm::SmallVector<int64_t> ranks;
  for (Value operand : operands)
    ranks.push_back(rankOf(operand));
  llvm::Expected<Einsum> einsum = Einsum::parse(equation, ranks);
  if (!einsum)
    return error(llvm::toString(einsum.takeError()));
  llvm::Expected<Value> result = einsum->build(builder, location, operands);
  return result ? *result : error(llvm::toString(result.takeError()));
}

Value ValueBuilder::makeUnitNorm(Value value, llvm::ArrayRef<int64_t> axes, double epsilon) {
  Value wide = makeCastLike(value, value, /*wide=*/true);
  Value sum = makeReduce(ReduceKind::Sum, make<MultiplyOp>(wide, wide), axes, /*keepDims=*/true);
  Value inverse = make<RsqrtOp>(make<MaximumOp>(sum, makeConstant(epsilon * epsilon)));
  // Zeros stay zeros whatever they are multiplied by. Their derivative is the factor: 1 / epsilon
  // as in Keras, and 0 where float16 would round the gradient to infinity.
  Value scaled = wide;
  if (epsilon > 0) {
    Value isZero = makeCompare(ComparePredicate::EQ, sum, makeConstant(0.0));
    inverse = makeSelect(isZero, makeCastLike(makeConstant(1 / epsilon), wide), inverse);
    Value held = make<StraightThroughOp>(value, value, /*finite=*/true);
    scaled = makeCastLike(makeSelect(isZero, held, value), value, /*wide=*/true);
  }
  return makeCastLike(make<MultiplyOp>(scaled, inverse), value);
}

Value ValueBuilder::makeSoftmax(Value value, llvm::ArrayRef<int64_t> axes) {
  if (axes.size() == 1)
    return make<SoftmaxOp>(value, axes.front());
  return make<ExpOp>(make<SubtractOp>(value, logSumExp(builder, location, value, axes)));
}

} // namespace mpc
