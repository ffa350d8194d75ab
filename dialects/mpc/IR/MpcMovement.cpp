// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Constants and ops that move elements without computing.
#include "dialects/mpc/IR/Mpc.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mpc;

#define MPC_INFER(OP)                                                                              \
  LogicalResult OP::inferReturnTypes(MLIRContext *context, std::optional<Location> location,       \
                                     ValueRange operands, DictionaryAttr attributes,               \
                                     OpaqueProperties properties, RegionRange regions,             \
                                     SmallVectorImpl<Type> &types)

void ConstantOp::build(OpBuilder &builder, OperationState &state, RankedTensorType type,
                       double splat) {
  Attribute value = isa<FloatType>(type.getElementType())
                        ? Attribute(builder.getFloatAttr(type.getElementType(), splat))
                        : Attribute(builder.getIntegerAttr(type.getElementType(), int64_t(splat)));
  build(builder, state, type, DenseElementsAttr::get(type, value), /*exact=*/FloatAttr(),
        /*finite=*/false);
}

LogicalResult ConstantOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                           SmallVectorImpl<Type> &types) {
  types.push_back(adaptor.getValue().getType());
  return success();
}

LogicalResult ConstantOp::verify() {
  auto value = dyn_cast<DenseElementsAttr>(getValue());
  if (!value)
    return emitOpError() << "must be dense";
  if (!getExact())
    return success();
  auto type = dyn_cast<FloatType>(value.getElementType());
  if (!value.isSplat() || !type)
    return emitOpError() << "has an exact number, for which all elements are that number, rounded";
  APFloat rounded = *getExact();
  bool losesInfo;
  rounded.convert(type.getFloatSemantics(), APFloat::rmNearestTiesToEven, &losesInfo);
  if (!value.getSplatValue<APFloat>().bitwiseIsEqual(rounded))
    return emitOpError() << "has elements that are not its exact number, rounded to " << type;
  return success();
}

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

Value mpc::scalarConstant(OpBuilder &builder, Location loc, Type elementType, double value) {
  return ConstantOp::create(builder, loc, RankedTensorType::get({}, elementType), value);
}

LogicalResult OneHotOp::verify() {
  auto indices = tensorTypeOf(getIndices()), result = tensorTypeOf(getResult());
  if (result.getRank() != indices.getRank() + 1 ||
      result.getShape().drop_back() != indices.getShape() ||
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
    return emitOpError() << "shape [" << input.getShape() << "] does not broadcast to ["
                         << like.getShape() << "]";
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
  if (input.getNumDynamicDims() != result.getNumDynamicDims() ||
      staticElements(input) != staticElements(result))
    return emitOpError() << "cannot give " << input << " the shape [" << result.getShape() << "]";
  return success();
}

/// The only open extent is the batch: of one type is of one shape.
OpFoldResult BroadcastLikeOp::fold(FoldAdaptor) {
  return getInput().getType() == getType() ? getInput() : OpFoldResult();
}

OpFoldResult ReshapeOp::fold(FoldAdaptor) {
  if (getInput().getType() == getType())
    return getInput();
  // The second one of two in a row does it all.
  auto inner = getInput().getDefiningOp<ReshapeOp>();
  if (!inner)
    return {};
  getInputMutable().assign(inner.getInput());
  return getResult();
}

MPC_INFER(TransposeOp) {
  Adaptor adaptor(operands, attributes, properties, regions);
  auto input = tensorTypeOf(operands[0]);
  ArrayRef<int64_t> permutation = adaptor.getPermutation();
  SmallVector<bool> seen(input.getRank(), false);
  SmallVector<int64_t> shape;
  for (int64_t d : permutation) {
    if (d < 0 || d >= input.getRank() || seen[d])
      return emitOptionalError(location, "permutation must name each of ", input.getRank(),
                               " dimensions once");
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

OpFoldResult TransposeOp::fold(FoldAdaptor) {
  if (llvm::is_sorted(getPermutation()))
    return getInput();
  // Two in a row are one, or none.
  auto inner = getInput().getDefiningOp<TransposeOp>();
  if (!inner)
    return {};
  SmallVector<int64_t> permutation;
  for (int64_t d : getPermutation())
    permutation.push_back(inner.getPermutation()[d]);
  if (llvm::is_sorted(permutation))
    return inner.getInput();
  getInputMutable().assign(inner.getInput());
  setPermutation(permutation);
  return getResult();
}

/// `extent` with `more` elements. Types are inferred before anything is verified, and in builders,
/// where a failure ends the process: so an open extent stays open, and a sum beyond 64 bits is the
/// largest number, both for the verifier to refuse.
static int64_t addExtents(int64_t extent, int64_t more) {
  if (ShapedType::isDynamic(extent) || ShapedType::isDynamic(more))
    return ShapedType::kDynamic;
  int64_t sum;
  return llvm::AddOverflow(extent, more, sum) ? std::numeric_limits<int64_t>::max() : sum;
}

MPC_INFER(ConcatenateOp) {
  Adaptor adaptor(operands, attributes, properties, regions);
  if (operands.empty())
    return emitOptionalError(location, "needs an operand");
  auto first = tensorTypeOf(operands[0]);
  int64_t axis = adaptor.getAxis();
  SmallVector<int64_t> shape(first.getShape());
  if (axis < 0 || axis >= first.getRank())
    return emitOptionalError(location, "axis ", axis, " is out of range for rank ",
                             first.getRank());
  for (Value other : operands.drop_front()) {
    if (tensorTypeOf(other).getRank() != first.getRank())
      return emitOptionalError(location, "operands must have one rank");
    shape[axis] = addExtents(shape[axis], tensorTypeOf(other).getDimSize(axis));
  }
  types.push_back(RankedTensorType::get(shape, first.getElementType()));
  return success();
}

LogicalResult ConcatenateOp::verify() {
  auto result = tensorTypeOf(getResult());
  for (Value input : getInputs()) {
    auto type = tensorTypeOf(input);
    if (type.getElementType() != result.getElementType())
      return emitOpError()
             << "operands must have one element type; insert mpc.cast, no op promotes implicitly";
    for (int64_t d = 0; d < type.getRank(); ++d)
      if (d != int64_t(getAxis()) && type.getDimSize(d) != result.getDimSize(d))
        return emitOpError() << "operands must agree in all dimensions but the axis";
      else if (d == int64_t(getAxis()) && type.isDynamicDim(d))
        return emitOpError() << "the axis must not be the batch";
  }
  return success();
}

OpFoldResult ConcatenateOp::fold(FoldAdaptor) {
  return getInputs().size() == 1 ? getInputs().front() : OpFoldResult();
}

MPC_INFER(SliceOp) {
  Adaptor adaptor(operands, attributes, properties, regions);
  auto input = tensorTypeOf(operands[0]);
  int64_t axis = adaptor.getAxis();
  if (axis < 0 || axis >= input.getRank())
    return emitOptionalError(location, "axis ", axis, " is out of range for rank ",
                             input.getRank());
  if (int64_t size = adaptor.getSize(); size < 0 && !ShapedType::isDynamic(size))
    return emitOptionalError(location, "size ", size, " is negative");
  SmallVector<int64_t> shape(input.getShape());
  shape[axis] = adaptor.getSize();
  types.push_back(RankedTensorType::get(shape, input.getElementType()));
  return success();
}

LogicalResult SliceOp::verify() {
  int64_t extent = tensorTypeOf(getInput()).getDimSize(getAxis()), offset = getOffset(),
          size = getSize();
  if (ShapedType::isDynamic(extent) || offset < 0 || size < 0 || offset > extent - size)
    return emitOpError() << size << " elements from " << offset << " on are outside extent "
                         << extent;
  return success();
}

/// All elements from the first one on.
OpFoldResult SliceOp::fold(FoldAdaptor) {
  return getInput().getType() == getType() ? getInput() : OpFoldResult();
}

MPC_INFER(PadOp) {
  Adaptor adaptor(operands, attributes, properties, regions);
  auto input = tensorTypeOf(operands[0]);
  int64_t axis = adaptor.getAxis();
  if (axis < 0 || axis >= input.getRank())
    return emitOptionalError(location, "axis ", axis, " is out of range for rank ",
                             input.getRank());
  const int64_t low = adaptor.getLow(), high = adaptor.getHigh();
  if (low < 0 || high < 0)
    return emitOptionalError(location, "pads by ", low, " and ", high,
                             "; expected non-negative amounts");
  SmallVector<int64_t> shape(input.getShape());
  shape[axis] = addExtents(addExtents(shape[axis], low), high);
  types.push_back(RankedTensorType::get(shape, input.getElementType()));
  return success();
}

LogicalResult PadOp::verify() {
  if (tensorTypeOf(getInput()).isDynamicDim(getAxis()))
    return emitOpError() << "the axis must not be the batch";
  if (!isa<FloatType>(elementTypeOf(getInput())) && !getValue().isZero())
    return emitOpError() << "pads integers with zeros";
  return success();
}

OpFoldResult PadOp::fold(FoldAdaptor) {
  return getLow() == 0 && getHigh() == 0 ? getInput() : OpFoldResult();
}

bool BroadcastLikeOp::isCheapToRecompute() { return true; }
bool ReshapeOp::isCheapToRecompute() { return true; }

LogicalResult BroadcastLikeOp::buildVjp(OpBuilder &builder, ValueRange cotangents,
                                        ArrayRef<bool> wanted,
                                        MutableArrayRef<Value> operandCotangents) {
  if (wanted[0])
    operandCotangents[0] = sumToType(builder, getLoc(), cotangents[0], tensorTypeOf(getInput()));
  return success();
}

LogicalResult ReshapeOp::buildVjp(OpBuilder &builder, ValueRange cotangents, ArrayRef<bool>,
                                  MutableArrayRef<Value> operandCotangents) {
  auto type = tensorTypeOf(getInput()).clone(elementTypeOf(cotangents[0]));
  operandCotangents[0] = ReshapeOp::create(builder, getLoc(), type, cotangents[0]);
  return success();
}

LogicalResult TransposeOp::buildVjp(OpBuilder &builder, ValueRange cotangents, ArrayRef<bool>,
                                    MutableArrayRef<Value> operandCotangents) {
  SmallVector<int64_t> inverse(getPermutation().size());
  for (auto [i, d] : llvm::enumerate(getPermutation()))
    inverse[d] = i;
  operandCotangents[0] = TransposeOp::create(builder, getLoc(), cotangents[0], inverse);
  return success();
}

LogicalResult ConcatenateOp::buildVjp(OpBuilder &builder, ValueRange cotangents,
                                      ArrayRef<bool> wanted,
                                      MutableArrayRef<Value> operandCotangents) {
  int64_t offset = 0;
  for (auto [i, input] : llvm::enumerate(getInputs())) {
    int64_t size = tensorTypeOf(input).getDimSize(getAxis());
    if (wanted[i])
      operandCotangents[i] =
          SliceOp::create(builder, getLoc(), cotangents[0], getAxis(), offset, size);
    offset += size;
  }
  return success();
}

LogicalResult SliceOp::buildVjp(OpBuilder &builder, ValueRange cotangents, ArrayRef<bool>,
                                MutableArrayRef<Value> operandCotangents) {
  int64_t extent = tensorTypeOf(getInput()).getDimSize(getAxis()), offset = getOffset(),
          size = getSize();
  operandCotangents[0] = PadOp::create(builder, getLoc(), cotangents[0], getAxis(), offset,
                                       extent - offset - size, llvm::APFloat(0.0));
  return success();
}

LogicalResult PadOp::buildVjp(OpBuilder &builder, ValueRange cotangents, ArrayRef<bool>,
                              MutableArrayRef<Value> operandCotangents) {
  operandCotangents[0] = SliceOp::create(builder, getLoc(), cotangents[0], getAxis(), getLow(),
                                         tensorTypeOf(getInput()).getDimSize(getAxis()));
  return success();
}

LogicalResult ConstantOp::evaluate(ArrayRef<ReferenceTensor>,
                                   MutableArrayRef<ReferenceTensor> results) {
  auto value = dyn_cast<DenseElementsAttr>(getValue());
  if (!value)
    return emitOpError() << "has no dense value";
  startReference(results[0], elementTypeOf(getResult()), tensorTypeOf(getResult()).getShape());
  if (results[0].isFloating())
    for (auto [i, element] : llvm::enumerate(value.getValues<llvm::APFloat>())) {
      bool losesInfo;
      element.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &losesInfo);
      results[0].floats[i] = element.convertToDouble();
    }
  else
    for (auto [i, element] : llvm::enumerate(value.getValues<llvm::APInt>()))
      results[0].integers[i] =
          elementTypeOf(getResult()).isUnsignedInteger() || element.getBitWidth() == 1
              ? int64_t(element.getZExtValue())
              : element.getSExtValue();
  return success();
}

LogicalResult OneHotOp::evaluate(ArrayRef<ReferenceTensor> operands,
                                 MutableArrayRef<ReferenceTensor> results) {
  int64_t depth = tensorTypeOf(getResult()).getShape().back();
  SmallVector<int64_t> shape(operands[0].shape);
  shape.push_back(depth);
  startReference(results[0], elementTypeOf(getResult()), shape);
  for (auto [i, index] : llvm::enumerate(operands[0].integers))
    if (index >= 0 && index < depth)
      results[0].floats[i * depth + index] = 1;
  return success();
}

LogicalResult BroadcastLikeOp::evaluate(ArrayRef<ReferenceTensor> operands,
                                        MutableArrayRef<ReferenceTensor> results) {
  const ReferenceTensor &input = operands[0];
  ArrayRef<int64_t> shape = operands[1].shape;
  startReference(results[0], input.elementType, shape);
  gatherReference(input, stridedOffsets(shape, broadcastStrides(input.shape, shape)), results[0]);
  return success();
}

LogicalResult ReshapeOp::evaluate(ArrayRef<ReferenceTensor> operands,
                                  MutableArrayRef<ReferenceTensor> results) {
  results[0] = operands[0];
  results[0].shape.assign(tensorTypeOf(getResult()).getShape().begin(),
                          tensorTypeOf(getResult()).getShape().end());
  int64_t rest = 1;
  for (int64_t extent : results[0].shape)
    rest *= ShapedType::isDynamic(extent) ? 1 : extent;
  for (int64_t &extent : results[0].shape)
    if (ShapedType::isDynamic(extent))
      extent = rest == 0 ? 0 : operands[0].size() / rest;
  return success();
}

LogicalResult TransposeOp::evaluate(ArrayRef<ReferenceTensor> operands,
                                    MutableArrayRef<ReferenceTensor> results) {
  SmallVector<int64_t> strides = rowMajorStrides(operands[0].shape), shape, permuted;
  for (int64_t d : getPermutation()) {
    shape.push_back(operands[0].shape[d]);
    permuted.push_back(strides[d]);
  }
  startReference(results[0], operands[0].elementType, shape);
  gatherReference(operands[0], stridedOffsets(shape, permuted), results[0]);
  return success();
}

/// Stores `part` into `whole` from `offset` along `axis` on.
static void storePart(const ReferenceTensor &part, int64_t axis, int64_t offset,
                      ReferenceTensor &whole) {
  SmallVector<int64_t> strides = rowMajorStrides(whole.shape);
  for (auto [i, start] : llvm::enumerate(stridedOffsets(part.shape, strides)))
    if (whole.isFloating())
      whole.floats[start + offset * strides[axis]] = part.floats[i];
    else
      whole.integers[start + offset * strides[axis]] = part.integers[i];
}

LogicalResult ConcatenateOp::evaluate(ArrayRef<ReferenceTensor> operands,
                                      MutableArrayRef<ReferenceTensor> results) {
  SmallVector<int64_t> shape(operands[0].shape);
  shape[getAxis()] = tensorTypeOf(getResult()).getDimSize(getAxis());
  startReference(results[0], operands[0].elementType, shape);
  int64_t offset = 0;
  for (const ReferenceTensor &part : operands) {
    storePart(part, getAxis(), offset, results[0]);
    offset += part.shape[getAxis()];
  }
  return success();
}

LogicalResult SliceOp::evaluate(ArrayRef<ReferenceTensor> operands,
                                MutableArrayRef<ReferenceTensor> results) {
  SmallVector<int64_t> shape(operands[0].shape), strides = rowMajorStrides(operands[0].shape);
  shape[getAxis()] = getSize();
  startReference(results[0], operands[0].elementType, shape);
  SmallVector<int64_t, 0> offsets = stridedOffsets(shape, strides);
  for (int64_t &offset : offsets)
    offset += int64_t(getOffset()) * strides[getAxis()];
  gatherReference(operands[0], offsets, results[0]);
  return success();
}

LogicalResult PadOp::evaluate(ArrayRef<ReferenceTensor> operands,
                              MutableArrayRef<ReferenceTensor> results) {
  SmallVector<int64_t> shape(operands[0].shape);
  shape[getAxis()] += int64_t(getLow()) + int64_t(getHigh());
  startReference(results[0], operands[0].elementType, shape);
  if (results[0].isFloating()) // integers have the zeros that they start with
    llvm::fill(results[0].floats, roundTo(operands[0].elementType, getValue().convertToDouble()));
  storePart(operands[0], getAxis(), getLow(), results[0]);
  return success();
}
