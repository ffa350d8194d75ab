// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Ops of constants as constants, by what the reference says that they are.
#include "dialects/mpc/IR/FoldConstants.h"
#include "dialects/mpc/IR/Float8.h"
#include "dialects/mpc/IR/Mpc.h"

using namespace mlir;
using namespace mpc;

/// Larger constants would be memory for what an op makes of less.
static constexpr int64_t kMostElements = 4096;

static bool isSmall(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.hasStaticShape() && isAddressable(tensor) &&
         tensor.getNumElements() <= kMostElements && !isFloat8(tensor.getElementType());
}

/// Whether numbers go from floating point to integers, where the reference does not say what is out
/// of range, or the other way, where large ones might be rounded twice.
static bool isInexact(const ReferenceTensor &from, Type to) {
  constexpr int64_t kExact = int64_t(1) << 24; // of float32, which 16-bit numbers go through
  if (from.isFloating())
    return !isa<FloatType>(to) && !to.isInteger(1);
  return isa<FloatType>(to) &&
         llvm::any_of(from.integers, [](int64_t i) { return i < -kExact || i > kExact; });
}

/// The value of a constant, as mpc.constant has it; failure if it is none of such a type.
static LogicalResult readConstant(Attribute value, Type type, ReferenceTensor &tensor) {
  auto dense = dyn_cast_or_null<DenseElementsAttr>(value);
  if (!dense || dense.getType() != type || !isSmall(type))
    return failure();
  startReference(tensor, dense.getElementType(), dense.getType().getShape());
  if (!tensor.isFloating()) {
    for (auto [i, element] : llvm::enumerate(dense.getValues<APInt>()))
      tensor.set(i, llvm::APSInt(element, tensor.elementType.isUnsignedInteger() ||
                                              tensor.elementType.isInteger(1)));
    return success();
  }
  for (auto [i, element] : llvm::enumerate(dense.getValues<APFloat>())) {
    // A double would not keep what kind of NaN it is.
    if (element.isNaN())
      return failure();
    bool losesInfo;
    APFloat wide = element;
    wide.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &losesInfo);
    tensor.floats[i] = wide.convertToDouble();
  }
  return success();
}

static DenseElementsAttr writeConstant(const ReferenceTensor &tensor, RankedTensorType type) {
  if (!tensor.isFloating()) {
    SmallVector<APInt> values;
    for (int64_t i = 0; i < tensor.size(); ++i)
      values.push_back(tensor.integerAt(i));
    return DenseElementsAttr::get(type, values);
  }
  SmallVector<APFloat> values;
  for (double number : tensor.floats) {
    bool losesInfo;
    values.emplace_back(number);
    values.back().convert(cast<FloatType>(tensor.elementType).getFloatSemantics(),
                          APFloat::rmNearestTiesToEven, &losesInfo);
  }
  return DenseElementsAttr::get(type, values);
}

LogicalResult FoldConstants::fold(Operation *op, ArrayRef<Attribute> operands,
                                  SmallVectorImpl<OpFoldResult> &results) const {
  auto reference = dyn_cast<ReferenceOpInterface>(op);
  if (!reference || !op->hasTrait<ExactOfConstants>() || op->getNumResults() != 1 ||
      !isSmall(op->getResult(0).getType()))
    return failure();
  SmallVector<ReferenceTensor> values(operands.size()), computed(1);
  for (auto [attribute, operand, value] : llvm::zip_equal(operands, op->getOperands(), values))
    if (failed(readConstant(attribute, operand.getType(), value)) ||
        isInexact(value, getElementTypeOrSelf(op->getResult(0).getType())))
      return failure();
  auto type = tensorTypeOf(op->getResult(0));
  if (failed(reference.evaluate(values, computed)) ||
      type.getShape() != ArrayRef(computed[0].shape))
    return failure();
  results.push_back(writeConstant(computed[0], type));
  return success();
}

Operation *MpcDialect::materializeConstant(OpBuilder &builder, Attribute value, Type type,
                                           Location location) {
  auto dense = dyn_cast<DenseElementsAttr>(value);
  if (!dense || dense.getType() != type)
    return nullptr;
  return ConstantOp::create(builder, location, dense);
}
