// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Opens libcuda.so.1, which comes with the GPU's kernel driver.
#include "runtime/drivers/cuda/cuda_api.h"
#include "runtime/drivers/cuda/loaded_api.h"

namespace mpc::rt::cuda {

static LoadedApi<Api> open() {
  auto loaded = loadApi<Api>({{"libcuda.so.1"},
                              "no NVIDIA driver on this machine (libcuda.so.1 is missing); install "
                              "one, or use --device cpu",
                              "the NVIDIA driver is too old: it",
                              "install one for CUDA 12 or later"},
                             [](Api &functions, auto &&find) {
#define MPC_CUDA_FIND(field, symbol, parameters) find(functions.field, symbol);
                               MPC_CUDA_FUNCTIONS(MPC_CUDA_FIND)
#undef MPC_CUDA_FIND
                             });
  if (loaded.problem[0])
    return loaded;
  int version = 0;
  if (Result code = loaded.functions.init(0)) {
    const char *text = nullptr;
    loaded.functions.getErrorString(code, &text);
    std::snprintf(loaded.problem, sizeof loaded.problem,
                  "the NVIDIA driver finds no GPU that it can use (%s); use --device cpu",
                  text ? text : "unknown reason");
  } else if (loaded.functions.driverGetVersion(&version) == 0 && version < oldestDriver) {
    std::snprintf(loaded.problem, sizeof loaded.problem,
                  "the NVIDIA driver is for CUDA %d.%d; install one for CUDA 12 or later",
                  version / 1000, version % 1000 / 10);
  }
  return loaded;
}

const Api *api(const char *&problem) noexcept {
  static const LoadedApi<Api> loaded = open();
  return loaded.get(problem);
}

} // namespace mpc::rt::cuda
