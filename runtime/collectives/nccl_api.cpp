// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/collectives/nccl_api.h"

#include "runtime/drivers/cuda/loaded_api.h"

namespace mpc::rt::nccl {

static cuda::LoadedApi<Api> open() {
  return cuda::loadApi<Api>(
      {{"libnccl.so.2"},
       "libnccl.so.2 is missing; install NCCL 2.14 or newer and put its folder "
       "on LD_LIBRARY_PATH, or use MPC_COLLECTIVES=mpi",
       "NCCL",
       "install 2.14 or newer"},
      [](Api &functions, auto &&find) {
#define MPC_NCCL_FIND(field, symbol, result, parameters) find(functions.field, symbol);
        MPC_NCCL_FUNCTIONS(MPC_NCCL_FIND)
#undef MPC_NCCL_FIND
      });
}

const Api *api(const char *&problem) noexcept {
  static const cuda::LoadedApi<Api> loaded = open();
  return loaded.get(problem);
}

} // namespace mpc::rt::nccl
