// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reductions and argmax.
#include "dialects/mpc/IR/Mpc.h"

using namespace mlir;
using namespace mpc;

LogicalResult ReduceOp::inferReturnTypes(MLIRContext *context, std::optional<Location> location, ValueRange operands,
                                         DictionaryAttr attributes, OpaqueProperties properties, RegionRange regions,
                                         SmallVectorImpl<Type> &types) {
  Adaptor adaptor(operands, attributes, properties, regions);
  auto input = tensorTypeOf(adaptor.getInput());
  SmallVector<int64_t> shape;
  for (int64_t axis : adaptor.getAxes())
    if (axis < 0 || axis >= input.getRank())
      return emitOptionalError(location, "axis ", axis, " is out of range for rank ", input.getRank());
  for (int64_t d = 0; d < input.getRank(); ++d) {
    if (!llvm::is_contained(adaptor.getAxes(), d))
      shape.push_back(input.getDimSize(d));
    else if (adaptor.getKeepDims())
      shape.push_back(1);
  }
  types.push_back(RankedTensorType::get(shape, input.getElementType()));
  return success();
}

LogicalResult ReduceOp::verify() {
  bool logical = getKind() == ReduceKind::All || getKind() == ReduceKind::Any;
  if (logical != elementTypeOf(getInput()).isInteger(1))
    return emitOpError() << "all and any reduce i1, the other kinds floating tensors";
  return success();
}

PrecisionClass ReduceOp::getPrecisionClass() { return PrecisionClass::Keep32; }

LogicalResult ArgMaxOp::inferReturnTypes(MLIRContext *context, std::optional<Location> location, ValueRange operands,
                                         DictionaryAttr attributes, OpaqueProperties properties, RegionRange regions,
                                         SmallVectorImpl<Type> &types) {
  Adaptor adaptor(operands, attributes, properties, regions);
  auto input = tensorTypeOf(adaptor.getInput());
  int64_t axis = adaptor.getAxis();
  if (axis < 0 || axis >= input.getRank())
    return emitOptionalError(location, "axis ", axis, " is out of range for rank ", input.getRank());
  SmallVector<int64_t> shape(input.getShape());
  shape.erase(shape.begin() + axis);
  types.push_back(RankedTensorType::get(shape, IntegerType::get(context, 32)));
  return success();
}
