// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Import/Common/ConstantBuilder.h"

#include <cmath>

namespace mpc {

using mlir::Value;

Value ConstantBuilder::makeConstant(double value) {
  Value constant = scalarConstant(builder, location, builder.getF32Type(), value);
  if (double(float(value)) != value && !std::isnan(value))
    constant.getDefiningOp<ConstantOp>().setExact(llvm::APFloat(value));
  return constant;
}

Value ConstantBuilder::makeConstant(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<double> values) {
  auto type = mlir::RankedTensorType::get(shape, builder.getF32Type());
  llvm::SmallVector<float> rounded(values.begin(), values.end());
  return make<ConstantOp>(
      llvm::cast<mlir::ElementsAttr>(mlir::DenseElementsAttr::get(type, llvm::ArrayRef(rounded))));
}

Value ConstantBuilder::makeScalar(mlir::Type elementType, double value) {
  if (mlir::isa<mlir::FloatType>(elementType))
    return scalarConstant(builder, location, elementType, value);
  return makeInteger(elementType, int64_t(value));
}

Value ConstantBuilder::makeInteger(mlir::Type elementType, int64_t value) {
  auto type = mlir::RankedTensorType::get({}, elementType);
  const llvm::APInt bits(elementType.getIntOrFloatBitWidth(), uint64_t(value),
                         /*isSigned=*/false, /*implicitTrunc=*/true);
  return make<ConstantOp>(
      llvm::cast<mlir::ElementsAttr>(mlir::DenseElementsAttr::get(type, llvm::ArrayRef(bits))));
}

Value ConstantBuilder::makeIndices(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> values) {
  auto type = mlir::RankedTensorType::get(shape, builder.getI32Type());
  llvm::SmallVector<int32_t> narrow(values.begin(), values.end());
  return make<ConstantOp>(
      llvm::cast<mlir::ElementsAttr>(mlir::DenseElementsAttr::get(type, llvm::ArrayRef(narrow))));
}

Value ConstantBuilder::makeMask(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<bool> values) {
  auto type = mlir::RankedTensorType::get(shape, builder.getI1Type());
  return make<ConstantOp>(
      llvm::cast<mlir::ElementsAttr>(mlir::DenseElementsAttr::get(type, values)));
}

} // namespace mpc
