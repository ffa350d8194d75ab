// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Opens the newest cuBLASLt that is there: of CUDA 13, else of CUDA 12.
#include "runtime/drivers/cuda/cublaslt_api.h"

#include <cstdio>
#include <dlfcn.h>
#include <initializer_list>
#include <type_traits>

namespace mpc::rt::cuda::lt {
namespace {

struct Opened {
  Api functions = {};
  char problem[300] = "";
};

Opened open() {
  Opened opened;
  void *library = nullptr;
  for (const char *name : {"libcublasLt.so.13", "libcublasLt.so.12"})
    if (!library)
      library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    std::snprintf(opened.problem, sizeof opened.problem,
                  "libcublasLt.so.13 and libcublasLt.so.12 are missing; install cuBLAS of CUDA 13 "
                  "or 12 and put its folder on LD_LIBRARY_PATH");
    return opened;
  }
  auto find = [&](auto &function, const char *name) {
    void *address = dlsym(library, name);
    if (!address && !opened.problem[0])
      std::snprintf(opened.problem, sizeof opened.problem,
                    "cuBLASLt has no %s; install the one of CUDA 13 or 12", name);
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(address);
  };
#define MPC_CUBLASLT_FIND(field, symbol, parameters) find(opened.functions.field, symbol);
  MPC_CUBLASLT_FUNCTIONS(MPC_CUBLASLT_FIND)
#undef MPC_CUBLASLT_FIND
  return opened;
}

} // namespace

const Api *api(const char *&problem) noexcept {
  static const Opened opened = open();
  problem = opened.problem;
  return opened.problem[0] ? nullptr : &opened.functions;
}

} // namespace mpc::rt::cuda::lt
