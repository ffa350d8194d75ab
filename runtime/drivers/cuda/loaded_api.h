// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Opens a library of NVIDIA's that may be missing, and finds a table of functions in it by name.
#ifndef MPC_RUNTIME_DRIVERS_CUDA_LOADED_API_H
#define MPC_RUNTIME_DRIVERS_CUDA_LOADED_API_H

#include <cstdio>
#include <dlfcn.h>
#include <initializer_list>
#include <type_traits>

namespace mpc::rt::cuda {

struct LibraryNames {
  std::initializer_list<const char *> files; // the first that is there is taken
  const char *missing;                       // the problem where none is
  const char *owner, *advice;                // "OWNER has no FUNCTION; ADVICE"
};

template <typename Api> struct LoadedApi {
  Api functions = {};
  char problem[400] = ""; // "" when every function was found
  // The functions; null where one is missing. `what` is then the problem.
  const Api *get(const char *&what) const noexcept {
    what = problem;
    return problem[0] ? nullptr : &functions;
  }
};

// `visit` calls find(FIELD, SYMBOL) for each of the functions given to it.
template <typename Api, typename Visit>
LoadedApi<Api> loadApi(const LibraryNames &names, Visit &&visit) {
  LoadedApi<Api> loaded;
  void *library = nullptr;
  for (const char *file : names.files)
    if (!library)
      library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    std::snprintf(loaded.problem, sizeof loaded.problem, "%s", names.missing);
    return loaded;
  }
  visit(loaded.functions, [&](auto &function, const char *symbol) {
    void *address = dlsym(library, symbol);
    if (!address && !loaded.problem[0])
      std::snprintf(loaded.problem, sizeof loaded.problem, "%s has no %s; %s", names.owner, symbol,
                    names.advice);
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(address);
  });
  return loaded;
}

} // namespace mpc::rt::cuda

#endif
