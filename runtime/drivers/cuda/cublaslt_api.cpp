// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Opens the newest cuBLASLt that is there: of CUDA 13, else of CUDA 12.
#include "runtime/drivers/cuda/cublaslt_api.h"
#include "runtime/drivers/cuda/loaded_api.h"

namespace mpc::rt::cuda::lt {

static LoadedApi<Api> open() {
  return loadApi<Api>(
      {{"libcublasLt.so.13", "libcublasLt.so.12"},
       "libcublasLt.so.13 and libcublasLt.so.12 are missing; install cuBLAS of CUDA 13 "
       "or 12 and put its folder on LD_LIBRARY_PATH",
       "cuBLASLt",
       "install the one of CUDA 13 or 12"},
      [](Api &functions, auto &&find) {
#define MPC_CUBLASLT_FIND(field, symbol, parameters) find(functions.field, symbol);
        MPC_CUBLASLT_FUNCTIONS(MPC_CUBLASLT_FIND)
#undef MPC_CUBLASLT_FIND
      });
}

const Api *api(const char *&problem) noexcept {
  static const LoadedApi<Api> loaded = open();
  return loaded.get(problem);
}

} // namespace mpc::rt::cuda::lt
