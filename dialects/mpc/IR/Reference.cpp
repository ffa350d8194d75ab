// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Storage, rounding and broadcasting of reference tensors.
#include "dialects/mpc/IR/Mpc.h"
#include "llvm/ADT/APFloat.h"

using namespace mlir;
using namespace mpc;

int64_t ReferenceTensor::size() const {
  int64_t count = 1;
  for (int64_t extent : shape)
    count *= extent;
  return count;
}

void ReferenceTensor::allocate() {
  if (isFloating())
    floats.assign(size(), 0.0);
  else
    integers.assign(size(), 0);
}

/// Integers of this type have no sign.
static bool isUnsigned(Type type) { return type.isUnsignedInteger() || type.isInteger(1); }

double ReferenceTensor::at(int64_t index) const {
  if (isFloating())
    return floats[index];
  return isUnsigned(elementType) ? double(uint64_t(integers[index])) : double(integers[index]);
}

llvm::APSInt ReferenceTensor::integerAt(int64_t index) const {
  return llvm::APSInt(llvm::APInt(elementType.getIntOrFloatBitWidth(), integers[index],
                                  /*isSigned=*/true, /*implicitTrunc=*/true),
                      isUnsigned(elementType));
}

void ReferenceTensor::set(int64_t index, double value) {
  if (isFloating()) {
    floats[index] = roundTo(elementType, value);
    return;
  }
  // Wide enough for every double that a 64-bit integer could be; NaN and what is larger become a
  // number that no test should ask for.
  llvm::APSInt integer(/*BitWidth=*/128, /*isUnsigned=*/false);
  bool isExact;
  llvm::APFloat(value).convertToInteger(integer, llvm::APFloat::rmTowardZero, &isExact);
  set(index, integer);
}

void ReferenceTensor::set(int64_t index, const llvm::APSInt &value) {
  const unsigned width = elementType.getIntOrFloatBitWidth();
  llvm::APInt bits = value.extOrTrunc(width);
  integers[index] = isUnsigned(elementType) ? int64_t(bits.getZExtValue()) : bits.getSExtValue();
}

double mpc::roundTo(Type type, double value) {
  if (type.isF64())
    return value;
  llvm::APFloat rounded(value);
  bool losesInfo;
  rounded.convert(cast<FloatType>(type).getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven,
                  &losesInfo);
  rounded.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  return rounded.convertToDouble();
}

SmallVector<int64_t> mpc::broadcastStrides(ArrayRef<int64_t> shape, ArrayRef<int64_t> resultShape) {
  SmallVector<int64_t> strides(resultShape.size(), 0);
  int64_t stride = 1;
  for (size_t i = 0; i < shape.size(); ++i) {
    int64_t extent = shape[shape.size() - 1 - i];
    if (extent != 1)
      strides[resultShape.size() - 1 - i] = stride;
    stride *= extent;
  }
  return strides;
}

SmallVector<int64_t> mpc::rowMajorStrides(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides(shape.size());
  int64_t stride = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    strides[d] = stride;
    stride *= shape[d];
  }
  return strides;
}

SmallVector<int64_t, 0> mpc::stridedOffsets(ArrayRef<int64_t> extents, ArrayRef<int64_t> strides) {
  SmallVector<int64_t, 0> offsets{0}, next;
  for (auto [extent, stride] : llvm::zip_equal(extents, strides)) {
    next.clear();
    for (int64_t offset : offsets)
      for (int64_t i = 0; i < extent; ++i)
        next.push_back(offset + i * stride);
    std::swap(offsets, next);
  }
  return offsets;
}

void mpc::startReference(ReferenceTensor &result, Type elementType, ArrayRef<int64_t> shape) {
  result.elementType = elementType;
  result.shape.assign(shape.begin(), shape.end());
  result.allocate();
}

void mpc::gatherReference(const ReferenceTensor &input, ArrayRef<int64_t> offsets,
                          ReferenceTensor &result) {
  for (auto [i, offset] : llvm::enumerate(offsets))
    if (result.isFloating())
      result.floats[i] = input.floats[offset];
    else
      result.integers[i] = input.integers[offset];
}

std::array<uint32_t, 4> mpc::philox4x32(std::array<uint32_t, 4> c, std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    uint64_t a = uint64_t(0xD2511F53u) * c[0], b = uint64_t(0xCD9E8D57u) * c[2];
    c = {uint32_t(b >> 32) ^ c[1] ^ key[0], uint32_t(b), uint32_t(a >> 32) ^ c[3] ^ key[1],
         uint32_t(a)};
    key = {key[0] + 0x9E3779B9u, key[1] + 0xBB67AE85u};
  }
  return c;
}

LogicalResult mpc::evaluateElementwise(Operation *op, ArrayRef<ReferenceTensor> operands,
                                       MutableArrayRef<ReferenceTensor> results) {
  auto elementwise = cast<ElementwiseOpInterface>(op);
  SmallVector<ArrayRef<int64_t>> shapes;
  for (const ReferenceTensor &operand : operands)
    shapes.push_back(operand.shape);
  auto shape = broadcastShapes(shapes);
  if (failed(shape))
    return op->emitError("operands do not broadcast");
  ReferenceTensor &result = results[0];
  result.elementType = getElementTypeOrSelf(op->getResult(0).getType());
  result.shape = *shape;
  result.allocate();
  SmallVector<SmallVector<int64_t, 0>> offsets;
  for (const ReferenceTensor &operand : operands)
    offsets.push_back(stridedOffsets(*shape, broadcastStrides(operand.shape, *shape)));
  auto exact = dyn_cast<IntegerElementwiseOpInterface>(op);
  if (exact && !llvm::any_of(operands, [](const auto &operand) { return operand.isFloating(); })) {
    SmallVector<llvm::APSInt> integers(operands.size());
    for (int64_t linear = 0, count = result.size(); linear < count; ++linear) {
      for (size_t i = 0; i < operands.size(); ++i)
        integers[i] = operands[i].integerAt(offsets[i][linear]);
      result.set(linear, exact.evaluateIntegers(integers));
    }
    return success();
  }
  SmallVector<double> scalars(operands.size());
  for (int64_t linear = 0, count = result.size(); linear < count; ++linear) {
    for (size_t i = 0; i < operands.size(); ++i)
      scalars[i] = operands[i].at(offsets[i][linear]);
    result.set(linear, elementwise.evaluateScalar(scalars));
  }
  return success();
}

LogicalResult mpc::evaluateBlock(Block &block, ArrayRef<ReferenceTensor> arguments,
                                 SmallVectorImpl<ReferenceTensor> &results) {
  llvm::DenseMap<Value, ReferenceTensor> values;
  for (auto [argument, value] : llvm::zip_equal(block.getArguments(), arguments))
    values[argument] = value;
  for (Operation &op : block) {
    SmallVector<ReferenceTensor> operands, opResults(op.getNumResults());
    for (Value operand : op.getOperands())
      operands.push_back(values.at(operand));
    if (op.hasTrait<OpTrait::IsTerminator>()) {
      results = std::move(operands);
      return success();
    }
    if (auto layer = dyn_cast<LayerOp>(op)) {
      if (failed(evaluateBlock(layer.getBody().front(), operands, opResults)))
        return failure();
    } else {
      auto reference = dyn_cast<ReferenceOpInterface>(op);
      if (!reference)
        return op.emitError() << "has no reference value";
      if (failed(reference.evaluate(operands, opResults)))
        return failure();
    }
    for (auto [result, value] : llvm::zip_equal(op.getResults(), opResults))
      values[result] = std::move(value);
  }
  return block.getParentOp()->emitError() << "has no terminator";
}
