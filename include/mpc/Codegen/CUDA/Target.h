// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The targets that `--target=cuda[:sm_N,...]` asks for.
#ifndef MPC_CODEGEN_CUDA_TARGET_H
#define MPC_CODEGEN_CUDA_TARGET_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"
#include <optional>
#include <string>
#include <vector>

namespace mpc {

/// How products of float32 are multiplied, by the numbers of include/mpc-rt/cuda.h.
enum class Fp32Precision { ieee, tf32, tf32x3 };
/// Their names, in this order.
inline constexpr llvm::StringRef fp32PrecisionNames[] = {"ieee", "tf32", "tf32x3"};

/// None for a text that is none of these names.
std::optional<Fp32Precision> parseFp32Precision(llvm::StringRef text);
llvm::StringRef stringifyFp32Precision(Fp32Precision precision);

struct CudaTarget {
  /// Compute capabilities times ten that get a cubin, ascending.
  std::vector<unsigned> architectures = {80, 90, 100, 120};
  /// The lowest gets PTX, too: devices without a cubin compile it when they load it.
  unsigned ptx() const { return architectures.front(); }
  /// Kernels as source only: for the software device of test/FakeCuda, which compiles them itself.
  bool sourceOnly = false;
  bool keepSource = true;
  Fp32Precision fp32Precision = Fp32Precision::ieee;
};

/// None for a text that is not "cuda", "cuda:sm_80,sm_90" or "cuda:source".
std::optional<CudaTarget> parseCudaTarget(llvm::StringRef text);

/// The kernels of a module after the phase kernels as CUDA C++; none, with errors, for what has no
/// CUDA form.
std::optional<std::string> printCudaSource(mlir::ModuleOp module, const CudaTarget &target);

} // namespace mpc

#endif // MPC_CODEGEN_CUDA_TARGET_H
