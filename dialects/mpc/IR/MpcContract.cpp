// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The contraction: shapes, verifier, derivative, reference value.
#include "dialects/mpc/IR/Mpc.h"

using namespace mlir;
using namespace mpc;

/// Dimensions of a tensor of `rank` that are in neither list, in order.
static SmallVector<int64_t> freeDimensions(int64_t rank, ArrayRef<int64_t> batch, ArrayRef<int64_t> contracting) {
  SmallVector<int64_t> free;
  for (int64_t d = 0; d < rank; ++d)
    if (!llvm::is_contained(batch, d) && !llvm::is_contained(contracting, d))
      free.push_back(d);
  return free;
}

SmallVector<int64_t> ContractOp::getLhsFree() {
  return freeDimensions(tensorTypeOf(getLhs()).getRank(), getLhsBatch(), getLhsContracting());
}

SmallVector<int64_t> ContractOp::getRhsFree() {
  return freeDimensions(tensorTypeOf(getRhs()).getRank(), getRhsBatch(), getRhsContracting());
}

static SmallVector<int64_t> resultShape(RankedTensorType lhs, RankedTensorType rhs, ArrayRef<int64_t> lhsBatch,
                                        ArrayRef<int64_t> rhsBatch, ArrayRef<int64_t> lhsContracting,
                                        ArrayRef<int64_t> rhsContracting) {
  SmallVector<int64_t> shape;
  for (int64_t d : lhsBatch)
    shape.push_back(lhs.getDimSize(d));
  for (int64_t d : freeDimensions(lhs.getRank(), lhsBatch, lhsContracting))
    shape.push_back(lhs.getDimSize(d));
  for (int64_t d : freeDimensions(rhs.getRank(), rhsBatch, rhsContracting))
    shape.push_back(rhs.getDimSize(d));
  return shape;
}

void ContractOp::build(OpBuilder &builder, OperationState &state, Value lhs, Value rhs, ArrayRef<int64_t> lhsBatch,
                       ArrayRef<int64_t> rhsBatch, ArrayRef<int64_t> lhsContracting,
                       ArrayRef<int64_t> rhsContracting) {
  auto lhsType = tensorTypeOf(lhs), rhsType = tensorTypeOf(rhs);
  auto type = RankedTensorType::get(
      resultShape(lhsType, rhsType, lhsBatch, rhsBatch, lhsContracting, rhsContracting), lhsType.getElementType());
  build(builder, state, type, lhs, rhs, /*bias=*/Value(), lhsBatch, rhsBatch, lhsContracting, rhsContracting,
        /*accumulate=*/TypeAttr(), Activation::None);
}

void ContractOp::build(OpBuilder &builder, OperationState &state, Value lhs, Value rhs,
                       ArrayRef<int64_t> lhsContracting, ArrayRef<int64_t> rhsContracting) {
  build(builder, state, lhs, rhs, {}, {}, lhsContracting, rhsContracting);
}

LogicalResult ContractOp::verify() {
  auto lhs = tensorTypeOf(getLhs()), rhs = tensorTypeOf(getRhs()), result = getType();
  auto pairs = [&](ArrayRef<int64_t> left, ArrayRef<int64_t> right, StringRef what) -> LogicalResult {
    if (left.size() != right.size())
      return emitOpError() << "has " << left.size() << " " << what << " dimensions on the left and " << right.size()
                           << " on the right";
    for (auto [l, r] : llvm::zip_equal(left, right)) {
      if (l < 0 || l >= lhs.getRank() || r < 0 || r >= rhs.getRank())
        return emitOpError() << what << " dimension out of range: " << l << " x " << r;
      if (lhs.getDimSize(l) != rhs.getDimSize(r))
        return emitOpError() << what << " dimensions " << l << " and " << r << " have extents " << lhs.getDimSize(l)
                             << " and " << rhs.getDimSize(r);
    }
    return success();
  };
  if (failed(pairs(getLhsBatch(), getRhsBatch(), "batch")) ||
      failed(pairs(getLhsContracting(), getRhsContracting(), "contracting")))
    return failure();
  if (lhs.getElementType() != rhs.getElementType())
    return emitOpError() << "operands have element types " << lhs.getElementType() << " and " << rhs.getElementType()
                         << "; insert mpc.cast, no op promotes implicitly";
  SmallVector<int64_t> shape =
      resultShape(lhs, rhs, getLhsBatch(), getRhsBatch(), getLhsContracting(), getRhsContracting());
  if (ArrayRef<int64_t>(shape) != result.getShape())
    return emitOpError() << "result must have shape [" << shape << "]";
  Type accumulate = getAccumulate().value_or(getDefaultAccumulator(lhs.getElementType()));
  if (result.getElementType() != lhs.getElementType() && result.getElementType() != accumulate)
    return emitOpError() << "result must have the operands' element type or the accumulator's";
  if (Value bias = getBias()) {
    auto type = tensorTypeOf(bias);
    if (type.getRank() != 1 || result.getRank() == 0 || type.getDimSize(0) != result.getShape().back() ||
        type.getElementType() != result.getElementType())
      return emitOpError() << "bias must be a vector as long as the last result dimension, of the result's element type";
  }
  return success();
}

PrecisionClass ContractOp::getPrecisionClass() { return PrecisionClass::Safe; }
