// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A file in memory: for readers that take a path.
#ifndef MPC_TEST_FUZZ_MEMORYFILE_H
#define MPC_TEST_FUZZ_MEMORYFILE_H

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

/// One file that gets new content for each run.
class MemoryFile {
public:
  MemoryFile() : descriptor(memfd_create("fuzzed", MFD_CLOEXEC)) {
    if (descriptor < 0)
      std::abort();
  }
  ~MemoryFile() { close(descriptor); }
  MemoryFile(const MemoryFile &) = delete;

  void setContent(const uint8_t *data, size_t size) {
    // Left as it is, the memory of a larger file before would be given back and taken anew.
    if (pwrite(descriptor, data, size, 0) != static_cast<ssize_t>(size) ||
        ftruncate(descriptor, static_cast<off_t>(size)) != 0)
      std::abort();
  }
  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor); }

private:
  int descriptor;
};

#endif
