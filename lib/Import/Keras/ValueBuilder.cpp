// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Import/Keras/ValueBuilder.h"

#include "lib/Import/Keras/Einsum.h"
#include "lib/Import/Keras/Shape.h"

#include <cmath>

namespace mpc::keras {

using mlir::Value;

bool ValueBuilder::judgeResults(llvm::ArrayRef<Value> results) {
  bool good = true;
  auto complain = [&](const llvm::Twine &message) {
    error(message);
    good = false;
  };
  for (Value result : results) {
    if (!result) {
      good = false;
      continue;
    }
    llvm::ArrayRef<int64_t> shape = shapeOf(result);
    if (llvm::is_contained(shape, 0))
      complain("the result is a tensor of shape " + printShape(shape) +
               " and so without elements, which mpc does not compile");
    else if (!shape.empty() && llvm::is_contained(shape.drop_front(), mlir::ShapedType::kDynamic))
      complain("the result is a tensor of shape " + printShape(shape) +
               ", in which the batch is not the first dimension; put it there, in the equation or "
               "by the order of the operands");
  }
  return good;
}

std::optional<int64_t> ValueBuilder::resolveAxis(int64_t axis, Value value) {
  const int64_t rank = rankOf(value);
  if (axis < -rank || axis >= rank) {
    error("axis " + llvm::Twine(axis) + " is outside an input of " + llvm::Twine(rank) +
          " dimensions");
    return std::nullopt;
  }
  axis = axis < 0 ? axis + rank : axis;
  if (axis == 0) {
    error("axis 0 is the batch; computing across samples is not supported here");
    return std::nullopt;
  }
  return axis;
}

Value ValueBuilder::makeConstant(double value) {
  Value constant = scalarConstant(builder, location, builder.getF32Type(), value);
  if (double(float(value)) != value && !std::isnan(value))
    constant.getDefiningOp<ConstantOp>().setExact(llvm::APFloat(value));
  return constant;
}

Value ValueBuilder::makeConstant(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<double> values) {
  auto type = mlir::RankedTensorType::get(shape, builder.getF32Type());
  llvm::SmallVector<float> rounded(values.begin(), values.end());
  return make<ConstantOp>(
      llvm::cast<mlir::ElementsAttr>(mlir::DenseElementsAttr::get(type, llvm::ArrayRef(rounded))));
}

Value ValueBuilder::makeScalar(mlir::Type elementType, double value) {
  if (mlir::isa<mlir::FloatType>(elementType))
    return scalarConstant(builder, location, elementType, value);
  return makeInteger(elementType, int64_t(value));
}

Value ValueBuilder::makeInteger(mlir::Type elementType, int64_t value) {
  auto type = mlir::RankedTensorType::get({}, elementType);
  const llvm::APInt bits(elementType.getIntOrFloatBitWidth(), uint64_t(value),
                         /*isSigned=*/false, /*implicitTrunc=*/true);
  return make<ConstantOp>(
      llvm::cast<mlir::ElementsAttr>(mlir::DenseElementsAttr::get(type, llvm::ArrayRef(bits))));
}

Value ValueBuilder::makeIndices(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> values) {
  auto type = mlir::RankedTensorType::get(shape, builder.getI32Type());
  llvm::SmallVector<int32_t> narrow(values.begin(), values.end());
  return make<ConstantOp>(
      llvm::cast<mlir::ElementsAttr>(mlir::DenseElementsAttr::get(type, llvm::ArrayRef(narrow))));
}

Value ValueBuilder::makeMask(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<bool> values) {
  auto type = mlir::RankedTensorType::get(shape, builder.getI1Type());
  return make<ConstantOp>(
      llvm::cast<mlir::ElementsAttr>(mlir::DenseElementsAttr::get(type, values)));
}

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

} // namespace mpc::keras
