// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reading inputs.
#include "mpc/Support/InputFile.h"

#include <cerrno>
#include <fcntl.h>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

static constexpr size_t deviceLimit = size_t{64} << 20;

/// All bytes of an open device; no error as long as there are no more than `deviceLimit`.
static std::error_code readDevice(int descriptor, std::string &bytes) {
  char part[65536];
  while (ssize_t count = ::read(descriptor, part, sizeof part)) {
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return {errno, std::generic_category()};
    bytes.append(part, static_cast<size_t>(count));
    if (bytes.size() > deviceLimit)
      return std::make_error_code(std::errc::file_too_large);
  }
  return {};
}

llvm::ErrorOr<std::unique_ptr<llvm::MemoryBuffer>> mpc::readInputFile(llvm::StringRef path,
                                                                      bool isVolatile) {
  const bool isStandardInput = path == "-";
  const std::string name = path.str();
  struct stat info;
  const bool isKnown =
      isStandardInput ? ::fstat(STDIN_FILENO, &info) == 0 : ::stat(name.c_str(), &info) == 0;
  if (!isKnown || !S_ISCHR(info.st_mode))
    return isStandardInput
               ? llvm::MemoryBuffer::getSTDIN()
               : llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                             /*RequiresNullTerminator=*/true, isVolatile);
  const int descriptor =
      isStandardInput ? STDIN_FILENO : ::open(name.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0)
    return std::error_code(errno, std::generic_category());
  std::string bytes;
  const std::error_code code = readDevice(descriptor, bytes);
  if (!isStandardInput)
    ::close(descriptor);
  if (code)
    return code;
  return llvm::MemoryBuffer::getMemBufferCopy(bytes, isStandardInput ? "<stdin>" : path);
}
