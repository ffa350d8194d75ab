// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The kernels of a module for CUDA, as they go into its library.
#ifndef MPC_LIB_CODEGEN_CUDA_CUDAPROGRAM_H
#define MPC_LIB_CODEGEN_CUDA_CUDAPROGRAM_H

#include "lib/Codegen/CUDA/KernelSource.h"
#include "lib/Codegen/CUDA/Nvrtc.h"
#include "mpc/Codegen/CUDA/Target.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/ThreadPool.h"

namespace mpc {

struct CudaProgram {
  std::vector<CudaKernel> kernels;
  std::vector<CudaGroup> groups;
  std::vector<CudaImage> images; ///< without bytes until CudaCompilation has made them
  std::string text;
  std::string hash; ///< of the text, hex
  bool keepText = true;
  Fp32Precision fp32Precision = Fp32Precision::ieee;
};

/// Prints the kernels of a module after the phase kernels, and says which images there will be.
llvm::Expected<CudaProgram> buildCudaProgram(mlir::ModuleOp module, const CudaTarget &target);

/// Compiles the images of a program on other threads, from its construction on.
class CudaCompilation {
public:
  CudaCompilation(CudaProgram &program, const CudaTarget &target, std::string name);
  ~CudaCompilation() { llvm::consumeError(finish()); }
  /// Waits until every image has its bytes.
  llvm::Error finish();

private:
  CudaProgram &program;
  const std::string name;
  std::vector<llvm::Error> failures;
  llvm::DefaultThreadPool pool; // last: its end waits for the work
};

/// Adds the tables of include/mpc-rt/cuda.h and the function that returns them.
void addCudaTables(llvm::Module &module, const CudaProgram &program);

} // namespace mpc

#endif // MPC_LIB_CODEGEN_CUDA_CUDAPROGRAM_H
