// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Constants and ops that move elements without computing.
#include "dialects/mpc/IR/Mpc.h"

using namespace mlir;
using namespace mpc;

#define MPC_INFER(OP)                                                                                        \
  LogicalResult OP::inferReturnTypes(MLIRContext *context, std::optional<Location> location,                 \
                                     ValueRange operands, DictionaryAttr attributes,                         \
                                     OpaqueProperties properties, RegionRange regions,                       \
                                     SmallVectorImpl<Type> &types)

void ConstantOp::build(OpBuilder &builder, OperationState &state, RankedTensorType type, double splat) {
  Attribute value = isa<FloatType>(type.getElementType())
                        ? Attribute(builder.getFloatAttr(type.getElementType(), splat))
                        : Attribute(builder.getIntegerAttr(type.getElementType(), int64_t(splat)));
  build(builder, state, type, DenseElementsAttr::get(type, value));
}

LogicalResult ConstantOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                           SmallVectorImpl<Type> &types) {
  types.push_back(adaptor.getValue().getType());
  return success();
}

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

Value mpc::scalarConstant(OpBuilder &builder, Location loc, Type elementType, double value) {
  return ConstantOp::create(builder, loc, RankedTensorType::get({}, elementType), value);
}

LogicalResult OneHotOp::verify() {
  auto indices = tensorTypeOf(getIndices()), result = tensorTypeOf(getResult());
  if (result.getRank() != indices.getRank() + 1 || result.getShape().drop_back() != indices.getShape() ||
      result.isDynamicDim(result.getRank() - 1))
    return emitOpError() << "result must have the indices' shape and one more static dimension";
  return success();
}

MPC_INFER(BroadcastLikeOp) {
  auto input = tensorTypeOf(operands[0]), like = tensorTypeOf(operands[1]);
  types.push_back(RankedTensorType::get(like.getShape(), input.getElementType()));
  return success();
}

LogicalResult BroadcastLikeOp::verify() {
  auto input = tensorTypeOf(getInput()), like = tensorTypeOf(getLike());
  auto shape = broadcastShapes({input.getShape(), like.getShape()});
  if (failed(shape) || ArrayRef<int64_t>(*shape) != like.getShape())
    return emitOpError() << "shape [" << input.getShape() << "] does not broadcast to [" << like.getShape() << "]";
  return success();
}

LogicalResult ReshapeOp::verify() {
  auto input = tensorTypeOf(getInput()), result = tensorTypeOf(getResult());
  if (input.getElementType() != result.getElementType())
    return emitOpError() << "must keep the element type";
  auto staticElements = [](RankedTensorType type) {
    int64_t count = 1;
    for (int64_t extent : type.getShape())
      count *= ShapedType::isDynamic(extent) ? 1 : extent;
    return count;
  };
  if (input.getNumDynamicDims() != result.getNumDynamicDims() || staticElements(input) != staticElements(result))
    return emitOpError() << "cannot give " << input << " the shape [" << result.getShape() << "]";
  return success();
}

OpFoldResult ReshapeOp::fold(FoldAdaptor) {
  return getInput().getType() == getType() ? getInput() : OpFoldResult();
}

MPC_INFER(TransposeOp) {
  Adaptor adaptor(operands, attributes, properties, regions);
  auto input = tensorTypeOf(operands[0]);
  ArrayRef<int64_t> permutation = adaptor.getPermutation();
  SmallVector<bool> seen(input.getRank(), false);
  SmallVector<int64_t> shape;
  for (int64_t d : permutation) {
    if (d < 0 || d >= input.getRank() || seen[d])
      return emitOptionalError(location, "permutation must name each of ", input.getRank(), " dimensions once");
    seen[d] = true;
    shape.push_back(input.getDimSize(d));
  }
  types.push_back(RankedTensorType::get(shape, input.getElementType()));
  return success();
}

LogicalResult TransposeOp::verify() {
  if (int64_t(getPermutation().size()) != tensorTypeOf(getInput()).getRank())
    return emitOpError() << "permutation must name each dimension once";
  return success();
}

MPC_INFER(ConcatenateOp) {
  Adaptor adaptor(operands, attributes, properties, regions);
  if (operands.empty())
    return emitOptionalError(location, "needs an operand");
  auto first = tensorTypeOf(operands[0]);
  int64_t axis = adaptor.getAxis();
  SmallVector<int64_t> shape(first.getShape());
  if (axis < 0 || axis >= first.getRank())
    return emitOptionalError(location, "axis ", axis, " is out of range for rank ", first.getRank());
  for (Value other : operands.drop_front()) {
    if (tensorTypeOf(other).getRank() != first.getRank())
      return emitOptionalError(location, "operands must have one rank");
    shape[axis] += tensorTypeOf(other).getDimSize(axis);
  }
  types.push_back(RankedTensorType::get(shape, first.getElementType()));
  return success();
}

LogicalResult ConcatenateOp::verify() {
  auto result = tensorTypeOf(getResult());
  for (Value input : getInputs()) {
    auto type = tensorTypeOf(input);
    if (type.getElementType() != result.getElementType())
      return emitOpError() << "operands must have one element type; insert mpc.cast, no op promotes implicitly";
    for (int64_t d = 0; d < type.getRank(); ++d)
      if (d != int64_t(getAxis()) && type.getDimSize(d) != result.getDimSize(d))
        return emitOpError() << "operands must agree in all dimensions but the axis";
      else if (d == int64_t(getAxis()) && type.isDynamicDim(d))
        return emitOpError() << "the axis must not be the batch";
  }
  return success();
}

MPC_INFER(SliceOp) {
  Adaptor adaptor(operands, attributes, properties, regions);
  auto input = tensorTypeOf(operands[0]);
  int64_t axis = adaptor.getAxis();
  if (axis < 0 || axis >= input.getRank())
    return emitOptionalError(location, "axis ", axis, " is out of range for rank ", input.getRank());
  SmallVector<int64_t> shape(input.getShape());
  shape[axis] = adaptor.getSize();
  types.push_back(RankedTensorType::get(shape, input.getElementType()));
  return success();
}

LogicalResult SliceOp::verify() {
  int64_t extent = tensorTypeOf(getInput()).getDimSize(getAxis()), offset = getOffset(), size = getSize();
  if (ShapedType::isDynamic(extent) || offset < 0 || size < 0 || offset > extent - size)
    return emitOpError() << "elements " << offset << " to " << offset + size << " are outside extent " << extent;
  return success();
}

MPC_INFER(PadOp) {
  Adaptor adaptor(operands, attributes, properties, regions);
  auto input = tensorTypeOf(operands[0]);
  int64_t axis = adaptor.getAxis();
  if (axis < 0 || axis >= input.getRank())
    return emitOptionalError(location, "axis ", axis, " is out of range for rank ", input.getRank());
  SmallVector<int64_t> shape(input.getShape());
  shape[axis] += adaptor.getLow() + adaptor.getHigh();
  types.push_back(RankedTensorType::get(shape, input.getElementType()));
  return success();
}

LogicalResult PadOp::verify() {
  if (tensorTypeOf(getInput()).isDynamicDim(getAxis()) || int64_t(getLow()) < 0 || int64_t(getHigh()) < 0)
    return emitOpError() << "pads a static dimension by non-negative amounts";
  return success();
}
