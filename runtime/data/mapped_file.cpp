// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Mapping of regular files.
#include "data/mapped_file.h"

#include "runtime/base/out_of_memory.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <new>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace mpc::data {

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22 // Linux 5.14; older kernels refuse it, and pages fault one by one
#endif

Result<std::shared_ptr<MappedFile>> MappedFile::open(const std::string &path) {
  // O_NONBLOCK: opening a pipe without a writer returns at once and is then refused.
  int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0)
    return Failure(path + ": cannot open: " + std::strerror(errno) +
                   "; expected a readable file; check the path");
  struct stat info;
  if (::fstat(descriptor, &info) != 0 || !S_ISREG(info.st_mode)) {
    ::close(descriptor);
    return Failure(path + ": is not a regular file; expected a file that can be mapped; copy the "
                          "data into a file");
  }
  const auto size = static_cast<uint64_t>(info.st_size);
  void *data = nullptr;
  if (size) {
    data =
        ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, descriptor, 0);
    if (data == MAP_FAILED) {
      const int reason = errno;
      ::close(descriptor);
      if (reason == ENOMEM)
        throw rt::OutOfMemory(size);
      return Failure(path + ": cannot map " + std::to_string(size) +
                     " bytes: " + std::strerror(reason));
    }
  }
  ::close(descriptor);
  auto *file = new (std::nothrow) MappedFile(static_cast<uint8_t *>(data), size);
  if (!file) {
    if (data)
      ::munmap(data, size);
    throw rt::OutOfMemory(sizeof(MappedFile));
  }
  return std::shared_ptr<MappedFile>(file);
}

void MappedFile::touch(uint64_t begin, uint64_t end) const {
  ::madvise(data_ + begin, end - begin, MADV_POPULATE_READ); // advice: failing costs time only
}

MappedFile::~MappedFile() {
  if (data_)
    ::munmap(data_, size_);
}

} // namespace mpc::data
