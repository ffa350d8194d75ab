// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels of the software device: their CUDA C++, compiled for the host.
#ifndef MPC_TEST_FAKECUDA_KERNELS_H
#define MPC_TEST_FAKECUDA_KERNELS_H

#include <cstddef>
#include <memory>
#include <string>

namespace fake {

struct Grid {
  unsigned blocks[3], threads[3];
};

// The code of a kernel exports this beside it (kernels.cpp appends it to the source).
struct HostKernel {
  const char *name;
  void *(*pack)(void **parameters); // a copy of the arguments
  void (*drop)(void *packed);
  void (*run)(void *packed, const Grid &grid);
  int stages;
  int parameters;
  // Whether the whole grid waits before each stage. Those that do not run from the last to
  // the first, so that one that needs another one before it has wrong numbers.
  const bool *waits;
};

class KernelLibrary {
public:
  // From the library that the image lies in; an empty pointer, and the reason, when it has no
  // source or does not compile.
  static std::unique_ptr<KernelLibrary> load(const void *image, std::string &problem);
  ~KernelLibrary();
  const HostKernel *find(const std::string &name) const;

private:
  void *library = nullptr;
  const HostKernel *table = nullptr;
  size_t count = 0;
};

} // namespace fake

#endif
