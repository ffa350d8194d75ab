// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// keras/src/layers/core/dense.py and its kind: enable_lora, and `kernel` with LoRA.
#include "lib/Import/Keras/Quantization/LowRank.h"

#include <cstring>

namespace mpc::keras {

using mlir::Value;

LowRank readLowRank(LayerBuilder &b, llvm::StringRef constraintKey, bool readsAlpha) {
  LowRank result;
  const int64_t rank = b.getInteger("lora_rank", 0);
  if (rank == 0)
    return result;
  if (rank < 0 || rank > (int64_t(1) << 30)) {
    b.error("'lora_rank' must be a positive integer");
    return result;
  }
  if (const llvm::json::Value *constraint = b.layer.config.get(constraintKey);
      constraint && constraint->kind() != llvm::json::Value::Null)
    b.error("LoRA is incompatible with kernel constraints; remove '" + constraintKey + "'");
  result.rank = rank;
  if (readsAlpha)
    result.scale = b.getNumber("lora_alpha", double(rank)) / double(rank);
  return result;
}

LowRankFactors addLowRankFactors(LayerBuilder &b, const LowRank &lowRank, llvm::StringRef kernel,
                                 llvm::ArrayRef<int64_t> shape, llvm::StringRef regularizerKey) {
  auto add = [&](llvm::StringRef suffix, llvm::ArrayRef<int64_t> dims,
                 llvm::StringRef initializer) {
    const std::string name = ("lora_" + kernel + suffix).str();
    VariableRequest request;
    request.name = name;
    request.shape.assign(dims.begin(), dims.end());
    request.regularizerKey = regularizerKey;
    request.defaultInitializer = initializer;
    request.ownType = b.builder.getF32Type();
    request.derived = true;
    return b.addVariable(request);
  };
  llvm::SmallVector<int64_t> first(shape);
  first.back() = lowRank.rank;
  Value a = add("_a", first, "he_uniform");
  return {a, add("_b", {lowRank.rank, shape.back()}, "zeros")};
}

Value multiplyLowRank(LayerBuilder &b, const LowRank &lowRank, Value x, Value factor) {
  Value product = b.make<ContractOp>(x, factor, llvm::ArrayRef<int64_t>{b.rankOf(x) - 1},
                                     llvm::ArrayRef<int64_t>{0});
  return lowRank.scale == 1 ? product : b.make<MultiplyOp>(product, b.makeConstant(lowRank.scale));
}

void LowRankMerge::apply(WeightFile &values, const std::string &kernel,
                         const std::string &kernelScale, const std::string &zero,
                         const std::string &a, const std::string &b) const {
  const StoredTensor &first = values.at(a), &second = values.at(b);
  const std::vector<double> left = readFloats(first), right = readFloats(second);
  const size_t rank = size_t(second.dims[0]), columns = size_t(second.dims[1]);
  StoredTensor &stored = values.at(kernel);
  std::vector<double> sum = quantizer
                                ? quantizer->dequantize(stored, values.at(kernelScale),
                                                        zero.empty() ? nullptr : &values.at(zero))
                                : readFloats(stored);
  for (size_t i = 0; i < sum.size(); ++i) {
    double product = 0;
    for (size_t r = 0; r < rank; ++r)
      product += left[i / columns * rank + r] * right[r * columns + i % columns];
    sum[i] += float(scale * product);
  }
  // Factors are float32, so the sum is at least that.
  StoredTensor merged;
  merged.dims = quantizer ? quantizer->fileShape : stored.dims;
  const bool isWide =
      quantizer ? quantizer->dtype == MPC_RT_FLOAT64 : stored.dtype == MPC_RT_FLOAT64;
  merged.dtype = isWide ? MPC_RT_FLOAT64 : MPC_RT_FLOAT32;
  merged.bytes.resize(sum.size() * (isWide ? 8 : 4));
  for (size_t i = 0; i < sum.size(); ++i) {
    const float narrow = float(sum[i]);
    if (isWide)
      std::memcpy(&merged.bytes[i * 8], &sum[i], 8);
    else
      std::memcpy(&merged.bytes[i * 4], &narrow, 4);
  }
  if (!quantizer) {
    stored = std::move(merged);
    return;
  }
  KernelQuantizer wide = *quantizer;
  wide.dtype = merged.dtype;
  KernelQuantizer::Result result = wide.quantize(merged);
  stored = std::move(result.values);
  values.at(kernelScale) = std::move(result.scale);
  if (result.zero)
    values.at(zero) = std::move(*result.zero);
}

} // namespace mpc::keras
