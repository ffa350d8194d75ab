// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Opens cuDNN 9, whose backend API is the same for CUDA 12 and 13.
#include "runtime/drivers/cuda/cudnn_api.h"
#include "runtime/drivers/cuda/loaded_api.h"

namespace mpc::rt::cuda::dnn {

static LoadedApi<Api> open() {
  return loadApi<Api>({{"libcudnn.so.9"},
                       "libcudnn.so.9 is missing; install cuDNN 9 for your CUDA and put its folder "
                       "on LD_LIBRARY_PATH",
                       "cuDNN",
                       "install cuDNN 9"},
                      [](Api &functions, auto &&find) {
#define MPC_CUDNN_FIND(result, field, symbol, parameters) find(functions.field, symbol);
                        MPC_CUDNN_FUNCTIONS(MPC_CUDNN_FIND)
#undef MPC_CUDNN_FIND
                      });
}

const Api *api(const char *&problem) noexcept {
  static const LoadedApi<Api> loaded = open();
  return loaded.get(problem);
}

} // namespace mpc::rt::cuda::dnn
