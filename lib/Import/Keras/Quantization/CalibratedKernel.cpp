// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// keras/src/layers/core/dense.py and einsum_dense.py: _gptq_build, _gptq_call, _awq_build,
// _awq_call. Integers that Keras found with calibration data, of which mpc computes the model.
#include "lib/Import/Keras/Quantization/QuantizedKernel.h"

#include "llvm/ADT/STLExtras.h"

namespace mpc::keras {

using mlir::Value;

std::optional<std::pair<int64_t, int64_t>> QuantizedKernel::findCalibratedMatrix() {
  llvm::ArrayRef<int64_t> full = shape.request.shape;
  if (full.size() != 2 && full.size() != 3) {
    b.error("gptq and awq have kernels of 2 or 3 dimensions in Keras, not of " +
            llvm::Twine(full.size()));
    return std::nullopt;
  }
  // The largest dimension, the first one of several, tells Keras what the kernel is for.
  const bool isFirst = llvm::max_element(full) == full.begin();
  const size_t split = full.size() == 2 || isFirst ? 1 : 2;
  int64_t sides[] = {1, 1};
  for (auto [axis, extent] : llvm::enumerate(full)) {
    int64_t &side = sides[axis < split ? 0 : 1];
    if (__builtin_mul_overflow(side, extent, &side) || side > (int64_t(1) << 40)) {
      b.error("the kernel has more than 2^40 elements");
      return std::nullopt;
    }
  }
  return std::pair(sides[0], sides[1]);
}

bool QuantizedKernel::addCalibrated(llvm::function_ref<bool()> addBias) {
  if (shape.lowRank)
    b.error("lora is not currently supported with gptq and awq, in Keras neither");
  auto matrix = findCalibratedMatrix();
  if (!addBias() || !matrix)
    return false;
  auto [rows, columns] = *matrix;
  const int64_t block = quantization.blockSize;
  const int64_t groupCount = block ? (rows + block - 1) / block : 1;
  const bool isPacked = quantization.weightBits == 4;
  mlir::Type bytes = b.builder.getIntegerType(8, /*isSigned=*/false);
  auto add = [&](llvm::StringRef name, llvm::ArrayRef<int64_t> dims, llvm::StringRef initializer,
                 mlir::Type type) {
    return b.addVariable(requestPart(name, dims, initializer, type, /*isDerived=*/false));
  };
  kernel = add("kernel", {isPacked ? (columns + 1) / 2 : columns, rows}, "zeros", bytes);
  scale = add("kernel_scale", {columns, groupCount}, "ones", {});
  zero = add(shape.isMatrix ? "kernel_zero" : "zero_point", {columns, groupCount}, "zeros", bytes);
  if (quantization.mode == QuantizationMode::AWQ)
    inputFactors = add("awq_scales", {rows}, "ones", {});
  groups = add("g_idx", {rows}, "zeros", b.builder.getF32Type());
  return !b.hasFailed();
}

Value QuantizedKernel::dequantizeCalibrated() {
  auto turn = [&](Value value) {
    return b.make<TransposeOp>(value, llvm::ArrayRef<int64_t>{1, 0});
  };
  auto [rows, columns] = *findCalibratedMatrix();
  Value values = turn(kernel);
  if (quantization.weightBits == 4)
    values = b.make<UnpackInt4Op>(values, columns);
  Value result = dequantizeBlocks(b, values, turn(scale), turn(zero), groups, /*axis=*/0);
  if (inputFactors)
    result = b.make<DivideOp>(result, b.makeReshape(inputFactors, {rows, 1}));
  return b.makeReshape(result, shape.request.shape);
}

} // namespace mpc::keras
