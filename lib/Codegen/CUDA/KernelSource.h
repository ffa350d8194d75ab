// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Outlined kernels as CUDA C++.
#ifndef MPC_LIB_CODEGEN_CUDA_KERNELSOURCE_H
#define MPC_LIB_CODEGEN_CUDA_KERNELSOURCE_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Support/LLVM.h"
#include "mpc/Codegen/CUDA/Target.h"
#include <string>
#include <vector>

namespace mpc {

struct CudaKernel {
  std::string name;
  /// One character per argument, without the count that comes last: 'p' for a buffer, else the
  /// size of a scalar in bytes.
  std::string arguments;
  /// Only a stage of groups: there is no kernel of its own.
  bool isStage = false;
  unsigned lanes = 1; ///< threads that take an iteration together
};

/// A kernel that does the work of several launches that follow each other.
struct CudaGroup {
  std::string name;
  std::vector<unsigned> kernels; ///< indices, in the order of the launches; at least 2
  std::vector<bool> waits;       ///< of each: for all of the grid to finish those before it
};

struct CudaSource {
  std::string text;
  std::vector<CudaKernel> kernels; ///< in the order of the module
  std::vector<CudaGroup> groups;
};

/// Threads of a block of every kernel.
inline constexpr unsigned kCudaBlockThreads = 256;

/// The source of all kernels of a module after the phase kernels: a function
/// `name(arguments..., count)` per kernel, in which each thread does whole iterations of the
/// launch, one after the other in steps of the grid. Failure, with errors on the ops, for what has
/// no CUDA form.
mlir::FailureOr<CudaSource> printCudaKernels(mlir::ModuleOp module, Fp32Precision fp32Precision);

} // namespace mpc

#endif // MPC_LIB_CODEGEN_CUDA_KERNELSOURCE_H
