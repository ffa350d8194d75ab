// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Mapping of regular files.
#include "runtime/data/mapped_file.h"

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

namespace {
/// Closes the file where memory is missing, too.
struct Descriptor {
  int number;
  ~Descriptor() {
    if (number >= 0)
      ::close(number);
  }
};
} // namespace

Result<std::shared_ptr<MappedFile>> MappedFile::open(const std::string &path) {
  // O_NONBLOCK: opening a pipe without a writer returns at once and is then refused.
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (file.number < 0)
    return Failure(path + ": cannot open: " + std::strerror(errno) +
                   "; expected a readable file; check the path");
  struct stat info;
  if (::fstat(file.number, &info) != 0 || !S_ISREG(info.st_mode))
    return Failure(path + ": is not a regular file; expected a file that can be mapped; copy the "
                          "data into a file");
  return map(file.number, 0, static_cast<uint64_t>(info.st_size), path);
}

Result<std::shared_ptr<MappedFile>> MappedFile::map(int descriptor, uint64_t begin, uint64_t size,
                                                    const std::string &place) {
  struct stat info;
  if (::fstat(descriptor, &info) != 0 || begin > static_cast<uint64_t>(info.st_size) ||
      size > static_cast<uint64_t>(info.st_size) - begin)
    return Failure(place + ": is cut off; expected " + std::to_string(size) +
                   " bytes; restore the file");
  const uint64_t before = begin % static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  void *data = nullptr;
  if (size) {
    data = ::mmap(nullptr, before + size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE,
                  descriptor, static_cast<off_t>(begin - before));
    if (data == MAP_FAILED) {
      if (errno == ENOMEM)
        throw rt::OutOfMemory(size);
      return Failure(place + ": cannot map " + std::to_string(size) +
                     " bytes: " + std::strerror(errno));
    }
  }
  auto *bytes = data ? static_cast<uint8_t *>(data) + before : nullptr;
  auto *file = new (std::nothrow) MappedFile(bytes, size, before);
  if (!file) {
    if (data)
      ::munmap(data, before + size);
    throw rt::OutOfMemory(sizeof(MappedFile));
  }
  return std::shared_ptr<MappedFile>(file);
}

void MappedFile::touch(uint64_t begin, uint64_t end) const {
  const uint64_t page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  const uint64_t first = (before_ + begin) / page * page;
  // Advice: failing costs time only.
  ::madvise(data_ - before_ + first, before_ + end - first, MADV_POPULATE_READ);
}

MappedFile::~MappedFile() {
  if (data_)
    ::munmap(data_ - before_, before_ + size_);
}

} // namespace mpc::data
