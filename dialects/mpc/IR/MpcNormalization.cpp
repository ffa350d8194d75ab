// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Mean and variance.
#include "dialects/mpc/IR/Mpc.h"

#include <cmath>

using namespace mlir;
using namespace mpc;

// ---- moments ------------------------------------------------------------------------------------

LogicalResult MomentsOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                          ValueRange operands, DictionaryAttr attributes,
                                          OpaqueProperties properties, RegionRange regions,
                                          SmallVectorImpl<Type> &types) {
  Adaptor adaptor(operands, attributes, properties, regions);
  auto type = inferReducedType(location, tensorTypeOf(adaptor.getInput()), adaptor.getAxes(),
                               adaptor.getKeepDims());
  if (failed(type))
    return failure();
  types.assign(2, *type);
  return success();
}

LogicalResult MomentsOp::verify() {
  if (getAxes().empty())
    return emitOpError() << "needs an axis to take the statistics over";
  return verifyDistinct(*this, getAxes(), "axis");
}

PrecisionClass MomentsOp::getPrecisionClass() { return PrecisionClass::Keep32; }

/// (dmean + 2 (x - mean) dvariance) / count.
LogicalResult MomentsOp::buildVjp(OpBuilder &builder, ValueRange cotangents, ArrayRef<bool>,
                                  MutableArrayRef<Value> operandCotangents) {
  Location loc = getLoc();
  Value x = getInput();
  auto type = tensorTypeOf(x);
  Type element = type.getElementType();
  auto keepDims = [&](Value value) -> Value {
    auto kept =
        RankedTensorType::get(reducedShape(type.getShape(), getAxes(), /*keepDims=*/true), element);
    return value.getType() == kept ? value : Value(ReshapeOp::create(builder, loc, kept, value));
  };
  // Divided in float32: a count above 65504 would be infinite in float16.
  Value count = countElements(builder, loc, x, getAxes());
  auto overCount = [&](Value value, double factor) -> Value {
    Type wide = widerOf32(element);
    value = castElements(builder, loc, value, wide);
    if (factor != 1)
      value = MultiplyOp::create(builder, loc, value, scalarConstant(builder, loc, wide, factor));
    value = DivideOp::create(builder, loc, value, count);
    return castElements(builder, loc, value, element);
  };
  Value total;
  if (cotangents[1]) {
    Value centered = SubtractOp::create(builder, loc, x, keepDims(getMean()));
    total = MultiplyOp::create(builder, loc, centered, keepDims(overCount(cotangents[1], 2)));
  }
  if (cotangents[0]) {
    Value share = keepDims(overCount(cotangents[0], 1));
    total = total ? Value(AddOp::create(builder, loc, total, share))
                  : BroadcastLikeOp::create(builder, loc, share, x);
  }
  operandCotangents[0] = total;
  return success();
}

LogicalResult MomentsOp::evaluate(ArrayRef<ReferenceTensor> operands,
                                  MutableArrayRef<ReferenceTensor> results) {
  const ReferenceTensor &input = operands[0];
  for (ReferenceTensor &result : results)
    startReference(result, input.elementType, reducedShape(input.shape, getAxes(), getKeepDims()));
  auto [kept, reduced] = splitOffsets(input.shape, getAxes());
  for (auto [i, start] : llvm::enumerate(kept)) {
    double sum = 0, squares = 0;
    for (int64_t offset : reduced)
      sum += input.floats[start + offset];
    double mean = sum / double(reduced.size());
    for (int64_t offset : reduced)
      squares += std::pow(input.floats[start + offset] - mean, 2);
    results[0].set(i, mean);
    results[1].set(i, squares / double(reduced.size()));
  }
  return success();
}
