// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Write to a file without a name, fsync, link, rename, fsync the folder.
#include "runtime/data/atomic_file.h"
#include "runtime/rules/temporary_file.h"

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace mpc::data {

const char *const atomicFilePrefix = ".mpc-write-";
static constexpr size_t bufferSize = size_t(1) << 20;

AtomicFile::AtomicFile(std::string path, bool isDurable)
    : path_(std::move(path)), isDurable_(isDurable) {}

AtomicFile::~AtomicFile() {
  if (hasName_)
    ::unlink(temporary_.c_str());
  if (descriptor_ >= 0)
    ::close(descriptor_);
}

void AtomicFile::fail(const char *what, int number) {
  if (message_.empty())
    message_ = path_ + ": cannot " + what + ": " + std::strerror(number) +
               "; expected a place that can be written; nothing was changed" +
               (number == ENOSPC || number == EDQUOT ? "; free space on that file system" : "");
}

Failure AtomicFile::failure() const { return Failure(message_); }

/// Where a path's symbolic links lead, a file or a place for one; errno is ELOOP where nowhere.
static std::string followLinks(std::string path) {
  char text[PATH_MAX];
  if (::realpath(path.c_str(), text))
    return text;
  // A file that exists although its path does not resolve is a pipe in /proc/self/fd, whose link is
  // no path.
  struct stat info;
  while (::stat(path.c_str(), &info) != 0 && errno == ENOENT) {
    const ssize_t length = ::readlink(path.c_str(), text, sizeof text);
    if (length <= 0)
      break;
    const std::string next(text, static_cast<size_t>(length));
    path = next[0] == '/' ? next : path.substr(0, path.rfind('/') + 1) + next;
  }
  return path;
}

/// Names of temporary files depend on the file's own name, so that its next writer finds what a
/// killed one left; the name itself could be too long with more around it.
std::string temporaryFileName(const std::string &target, unsigned number) {
  const size_t slash = target.rfind('/') + 1; // 0 where there is none
  uint64_t hash = 0xcbf29ce484222325u;        // FNV-1a
  for (size_t i = slash; i < target.size(); ++i)
    hash = (hash ^ static_cast<unsigned char>(target[i])) * 0x100000001b3u;
  char name[40];
  std::snprintf(name, sizeof name, "%016llx-%u", static_cast<unsigned long long>(hash), number);
  return target.substr(0, slash) + atomicFilePrefix + name;
}

template <typename Take> bool AtomicFile::takeName(Take take) {
  temporary_ = rules::takeTemporaryName(
      [&](unsigned number) { return temporaryFileName(target_, number); }, take);
  hasName_ = !temporary_.empty();
  return hasName_;
}

bool AtomicFile::create() {
  return takeName([&](const char *name) {
    descriptor_ = rules::createLocked(name);
    return descriptor_ >= 0;
  });
}

Status AtomicFile::open() {
  // A symbolic link stays a link: its target is replaced, or made.
  errno = 0;
  target_ = followLinks(path_);
  if (errno == ELOOP) {
    fail("open", ELOOP);
    return failure();
  }
  struct stat info;
  if (::stat(target_.c_str(), &info) == 0) {
    if (S_ISDIR(info.st_mode)) {
      fail("write", EISDIR);
      return failure();
    }
    if (!S_ISREG(info.st_mode)) {
      descriptor_ = ::open(target_.c_str(), O_WRONLY | O_CLOEXEC);
      if (descriptor_ < 0) {
        fail("open", errno);
        return failure();
      }
      return Status();
    }
  }
  size_t slash = target_.rfind('/');
  std::string folder = slash == std::string::npos ? "" : target_.substr(0, slash + 1);
  descriptor_ = rules::openUnnamed(folder.empty() ? "." : folder);
  if (descriptor_ < 0 && !create()) {
    fail("create a file in its folder", errno);
    return failure();
  }
  isTemporary_ = true;
  return Status();
}

void AtomicFile::flush() {
  size_t done = 0;
  while (message_.empty() && done < buffer_.size()) {
    ssize_t count = ::write(descriptor_, buffer_.data() + done, buffer_.size() - done);
    if (count > 0)
      done += static_cast<size_t>(count);
    else if (count == 0 || errno != EINTR)
      fail("write", count == 0 ? EIO : errno);
  }
  buffer_.clear();
}

void AtomicFile::write(const void *data, size_t size) {
  offset_ += size;
  const char *bytes = static_cast<const char *>(data);
  while (size) {
    size_t part = std::min(size, bufferSize - buffer_.size());
    buffer_.append(bytes, part);
    bytes += part;
    size -= part;
    if (buffer_.size() == bufferSize)
      flush();
  }
}

bool AtomicFile::link() {
  return takeName([&](const char *name) { return rules::linkUnnamed(descriptor_, name); });
}

Status AtomicFile::commit() {
  flush();
  if (message_.empty() && isTemporary_ && isDurable_ && ::fsync(descriptor_) != 0)
    fail("write", errno);
  if (message_.empty() && isTemporary_ && !hasName_ && !link())
    fail("create a file in its folder", errno);
  if (message_.empty() && isTemporary_ && ::rename(temporary_.c_str(), target_.c_str()) != 0)
    fail("replace", errno);
  hasName_ = hasName_ && !message_.empty();
  // Closing a temporary file ends its lock; fsync has said all there is to say about it.
  if (::close(descriptor_) != 0 && !isTemporary_ && message_.empty())
    fail("write", errno);
  descriptor_ = -1;
  if (!message_.empty())
    return failure();
  if (!isTemporary_ || !isDurable_)
    return Status();
  // The rename itself must survive a power cut; file systems that cannot sync a folder say EINVAL.
  size_t slash = target_.rfind('/');
  std::string folder = slash == std::string::npos ? "." : target_.substr(0, slash + 1);
  int directory = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory >= 0) {
    ::fsync(directory);
    ::close(directory);
  }
  return Status();
}

Status checkWritable(const std::string &path) {
  // A pipe must not be opened to look at it: opening waits for a reader, and closing it again would
  // end what that reads.
  struct stat info;
  if (::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode) &&
      ::access(path.c_str(), W_OK) == 0)
    return Status();
  return AtomicFile(path).open();
}

Status writeFileAtomically(const std::string &path, const std::string &text, bool isDurable) {
  AtomicFile file(path, isDurable);
  if (Status status = file.open(); !status)
    return status;
  file.write(text);
  return file.commit();
}

} // namespace mpc::data
