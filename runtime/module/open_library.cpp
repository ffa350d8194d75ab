// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/module/open_library.h"

#include <atomic>
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

namespace mpc::rt {

// A path of the open file that the loader has not met.
static std::string freshName(int file) {
  static std::atomic<unsigned> counter{0};
  std::string name = "/proc/self/";
  for (unsigned bits = ++counter; bits; bits >>= 1)
    name += bits & 1 ? "fd/../" : "./";
  return name + "fd/" + std::to_string(file);
}

void *openLibrary(int file) { return dlopen(freshName(file).c_str(), RTLD_NOW | RTLD_LOCAL); }

// The loader gives the one that it opened at that path before, which mpcc may have replaced since.
void *openLibrary(const std::string &path) {
  void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  const int file = library ? ::open(path.c_str(), O_RDONLY | O_CLOEXEC) : -1;
  if (file < 0)
    return library;
  const std::string name = freshName(file);
  void *current = nullptr;
  if (access(name.c_str(), R_OK) == 0) { // else /proc is not there, and nothing can be compared
    // Under a new name the loader compares device and inode.
    current = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    if (!current)
      current = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!current)
      (void)dlerror();
  }
  ::close(file);
  if (!current)
    return library;
  dlclose(library);
  return current;
}

} // namespace mpc::rt
