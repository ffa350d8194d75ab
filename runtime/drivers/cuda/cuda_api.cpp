// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Opens libcuda.so.1, which comes with the GPU's kernel driver.
#include "runtime/drivers/cuda/cuda_api.h"

#include <cstdio>
#include <dlfcn.h>
#include <type_traits>

namespace mpc::rt::cuda {
namespace {

struct Opened {
  Api functions = {};
  char problem[400] = "";
};

Opened open() {
  Opened opened;
  void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    std::snprintf(opened.problem, sizeof opened.problem,
                  "no NVIDIA driver on this machine (libcuda.so.1 is missing); install one, or use "
                  "--device cpu");
    return opened;
  }
  auto find = [&](auto &function, const char *name) {
    void *address = dlsym(library, name);
    if (!address && !opened.problem[0])
      std::snprintf(opened.problem, sizeof opened.problem,
                    "the NVIDIA driver is too old: it has no %s; install one for CUDA 12 or later",
                    name);
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(address);
  };
#define MPC_CUDA_FIND(field, symbol, parameters) find(opened.functions.field, symbol);
  MPC_CUDA_FUNCTIONS(MPC_CUDA_FIND)
#undef MPC_CUDA_FIND
  if (opened.problem[0])
    return opened;
  int version = 0;
  if (Result code = opened.functions.init(0)) {
    const char *text = nullptr;
    opened.functions.getErrorString(code, &text);
    std::snprintf(opened.problem, sizeof opened.problem,
                  "the NVIDIA driver finds no GPU that it can use (%s); use --device cpu",
                  text ? text : "unknown reason");
  } else if (opened.functions.driverGetVersion(&version) == 0 && version < oldestDriver) {
    std::snprintf(opened.problem, sizeof opened.problem,
                  "the NVIDIA driver is for CUDA %d.%d; install one for CUDA 12 or later",
                  version / 1000, version % 1000 / 10);
  }
  return opened;
}

} // namespace

const Api *api(const char *&problem) noexcept {
  static const Opened opened = open();
  problem = opened.problem;
  return opened.problem[0] ? nullptr : &opened.functions;
}

} // namespace mpc::rt::cuda
