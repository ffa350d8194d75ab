// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The kernels of a module for CUDA, as they go into its library.
#ifndef MPC_LIB_CODEGEN_CUDA_CUDAPROGRAM_H
#define MPC_LIB_CODEGEN_CUDA_CUDAPROGRAM_H

#include "lib/Codegen/CUDA/KernelSource.h"
#include "lib/Codegen/CUDA/Nvrtc.h"
#include "mpc/Codegen/CUDA/Target.h"
#include "llvm/IR/Module.h"

namespace mpc {

struct CudaProgram {
  std::vector<CudaKernel> kernels;
  std::vector<CudaGroup> groups;
  std::vector<CudaImage> images;
  std::string text;
  std::string hash; ///< of the text, hex
  bool keepText = true;
  bool tf32 = false;
};

/// Prints and compiles the kernels of a module after the phase kernels.
llvm::Expected<CudaProgram> buildCudaProgram(mlir::ModuleOp module, const CudaTarget &target,
                                             llvm::StringRef name);

/// Adds the tables of include/mpc-rt/cuda.h and the function that returns them.
void addCudaTables(llvm::Module &module, const CudaProgram &program);

} // namespace mpc

#endif // MPC_LIB_CODEGEN_CUDA_CUDAPROGRAM_H
