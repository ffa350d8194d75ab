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

void ReferenceTensor::set(int64_t index, double value) {
  if (isFloating())
    floats[index] = roundTo(elementType, value);
  else
    integers[index] = int64_t(value);
}

double mpc::roundTo(Type type, double value) {
  if (type.isF64())
    return value;
  llvm::APFloat rounded(value);
  bool losesInfo;
  rounded.convert(cast<FloatType>(type).getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven, &losesInfo);
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
  SmallVector<SmallVector<int64_t>> strides;
  for (const ReferenceTensor &operand : operands)
    strides.push_back(broadcastStrides(operand.shape, *shape));
  SmallVector<double> scalars(operands.size());
  for (int64_t linear = 0, count = result.size(); linear < count; ++linear) {
    for (size_t i = 0; i < operands.size(); ++i) {
      int64_t rest = linear, offset = 0;
      for (size_t d = shape->size(); d-- > 0;) {
        offset += rest % (*shape)[d] * strides[i][d];
        rest /= (*shape)[d];
      }
      scalars[i] = operands[i].at(offset);
    }
    result.set(linear, elementwise.evaluateScalar(scalars));
  }
  return success();
}
