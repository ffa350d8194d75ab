// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The beginning of every kernel's source: types and functions, without any header.
#ifndef MPC_LIB_CODEGEN_CUDA_PRELUDE_H
#define MPC_LIB_CODEGEN_CUDA_PRELUDE_H

#include "llvm/ADT/StringRef.h"

namespace mpc {

/// CUDA C++ for NVRTC, and for a host compiler that is given __device__, __global__ and the thread
/// indices by other means (test/FakeCuda).
llvm::StringRef getCudaPrelude();

} // namespace mpc

#endif // MPC_LIB_CODEGEN_CUDA_PRELUDE_H
