// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Names of targets.
#include "mpc/Codegen/CUDA/Target.h"
#include "lib/Codegen/CUDA/KernelSource.h"
#include "mpc-rt/cuda.h"
#include "llvm/ADT/SmallVector.h"

using namespace mpc;
using llvm::StringRef;

std::optional<CudaTarget> mpc::parseCudaTarget(StringRef text) {
  CudaTarget target;
  if (!text.consume_front("cuda"))
    return std::nullopt;
  if (text.empty())
    return target;
  if (!text.consume_front(":"))
    return std::nullopt;
  if (text == "source") {
    target.sourceOnly = true;
    return target;
  }
  target.architectures.clear();
  llvm::SmallVector<StringRef> names;
  text.split(names, ',');
  for (StringRef name : names) {
    unsigned number = 0;
    if (!name.consume_front("sm_") || name.getAsInteger(10, number) || number < 75 || number > 999)
      return std::nullopt;
    target.architectures.push_back(number);
  }
  llvm::sort(target.architectures);
  target.architectures.erase(std::unique(target.architectures.begin(), target.architectures.end()),
                             target.architectures.end());
  return target;
}

static_assert(unsigned(Fp32Precision::ieee) == MPC_RT_FP32_IEEE &&
              unsigned(Fp32Precision::tf32) == MPC_RT_FP32_TF32 &&
              unsigned(Fp32Precision::tf32x3) == MPC_RT_FP32_TF32X3);

std::optional<Fp32Precision> mpc::parseFp32Precision(StringRef text) {
  const auto *found = llvm::find(fp32PrecisionNames, text);
  if (found == std::end(fp32PrecisionNames))
    return std::nullopt;
  return Fp32Precision(found - std::begin(fp32PrecisionNames));
}

StringRef mpc::stringifyFp32Precision(Fp32Precision precision) {
  return fp32PrecisionNames[unsigned(precision)];
}

std::optional<std::string> mpc::printCudaSource(mlir::ModuleOp module, const CudaTarget &target) {
  auto source = printCudaKernels(module, target.fp32Precision);
  if (failed(source))
    return std::nullopt;
  return std::move(source->text);
}
