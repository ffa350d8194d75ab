// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// NVIDIA's run-time compiler, used ahead of time; it needs no GPU.
#ifndef MPC_LIB_CODEGEN_CUDA_NVRTC_H
#define MPC_LIB_CODEGEN_CUDA_NVRTC_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace mpc {

struct CudaImage {
  unsigned architecture = 0; ///< 90: sm_90
  bool isPtx = false;
  std::string bytes;
};

/// Opened on first use from where the build found it. An error says how to switch CUDA on when the
/// build found none.
llvm::Error checkNvrtc();

/// The source as a cubin, and as PTX when `withPtx`, which costs nothing more. Sums and products
/// are not contracted; divisions and square roots are rounded correctly; subnormal numbers are
/// kept.
llvm::Expected<std::vector<CudaImage>> compileCuda(llvm::StringRef source, llvm::StringRef name,
                                                   unsigned architecture, bool withPtx);

} // namespace mpc

#endif // MPC_LIB_CODEGEN_CUDA_NVRTC_H
