// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reading regular files.
#include "runtime/data/input_file.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace mpc::data {

InputFile::InputFile(InputFile &&other) noexcept
    : path_(std::move(other.path_)), descriptor_(other.descriptor_), size_(other.size_),
      offset_(other.offset_) {
  other.descriptor_ = -1;
}

InputFile::~InputFile() {
  if (descriptor_ >= 0)
    ::close(descriptor_);
}

Result<InputFile> InputFile::open(const std::string &path) {
  InputFile file;
  file.path_ = path;
  // O_NONBLOCK: opening a pipe without a writer returns at once and is then refused.
  file.descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file.descriptor_ < 0)
    return Failure(path + ": cannot open: " + std::strerror(errno) +
                   "; expected a readable file; check the path");
  struct stat info;
  if (::fstat(file.descriptor_, &info) != 0 || !S_ISREG(info.st_mode))
    return Failure(path + ": is not a regular file; expected a file that can be read twice; "
                          "copy the data into a file");
  file.size_ = static_cast<uint64_t>(info.st_size);
  return file;
}

Status InputFile::read(void *data, uint64_t size) {
  Status status = readAt(offset_, data, size);
  if (status)
    offset_ += size;
  return status;
}

Status InputFile::readAt(uint64_t offset, void *data, uint64_t size) const {
  uint8_t *bytes = static_cast<uint8_t *>(data);
  while (size) {
    ssize_t count = ::pread(descriptor_, bytes, std::min<uint64_t>(size, uint64_t(1) << 30),
                            static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return Failure(path_ + ": cannot read: " + std::strerror(errno) + "; at byte " +
                     std::to_string(offset));
    if (count == 0)
      return Failure(path_ + ": ends at byte " + std::to_string(offset) + "; expected " +
                     std::to_string(size) + " bytes more; the file is cut off");
    bytes += count;
    offset += static_cast<uint64_t>(count);
    size -= static_cast<uint64_t>(count);
  }
  return Status();
}

Result<std::string> readStream(int descriptor, const std::string &place, uint64_t limit) {
  std::string text;
  std::vector<char> part(1 << 16);
  for (;;) {
    const ssize_t count = ::read(descriptor, part.data(), part.size());
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return Failure(place + ": cannot be read: " + std::strerror(errno) +
                     "; expected data that is piped in");
    if (count == 0)
      return text;
    if (static_cast<uint64_t>(count) > limit - text.size())
      return Failure(place + ": has more than " + std::to_string(limit) +
                     " bytes; expected at most that; write it to a file");
    text.append(part.data(), static_cast<size_t>(count));
  }
}

Result<std::string> readWholeFile(const std::string &path, uint64_t limit) {
  Result<InputFile> file = InputFile::open(path);
  if (!file)
    return file.failure();
  if (file->size() > limit)
    return Failure(path + ": has " + std::to_string(file->size()) + " bytes; expected at most " +
                   std::to_string(limit));
  std::string text(file->size(), '\0');
  if (Status status = file->read(text.data(), text.size()); !status)
    return status.failure();
  return text;
}

} // namespace mpc::data
