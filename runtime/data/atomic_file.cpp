// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Write to a file without a name, fsync, link, rename, fsync the folder.
#include "data/atomic_file.h"

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace mpc::data {

const char *const atomicFilePrefix = ".mpc-write-";
static constexpr size_t bufferSize = size_t(1) << 20;

AtomicFile::AtomicFile(std::string path) : path_(std::move(path)) {}

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

static bool isNameOf(const std::string &path, int descriptor) {
  struct stat named, open;
  return ::lstat(path.c_str(), &named) == 0 && ::fstat(descriptor, &open) == 0 &&
         named.st_dev == open.st_dev && named.st_ino == open.st_ino;
}

/// A writer holds a lock on its temporary file as long as it lives, on whatever machine.
static bool removeAbandoned(const std::string &path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (descriptor < 0)
    return errno == ENOENT;
  const bool isAbandoned =
      ::flock(descriptor, LOCK_EX | LOCK_NB) == 0 && isNameOf(path, descriptor);
  if (isAbandoned)
    ::unlink(path.c_str());
  ::close(descriptor);
  return isAbandoned;
}

template <typename Take> bool AtomicFile::takeName(Take take) {
  constexpr unsigned mostNames = 100; // as many may write the same file at once
  for (unsigned number = 0; number < mostNames; ++number) {
    temporary_ = temporaryFileName(target_, number);
    if (take())
      return true;
    if (errno != EEXIST)
      return false;
    if (removeAbandoned(temporary_) && take())
      return true;
  }
  errno = EEXIST;
  return false;
}

bool AtomicFile::create() {
  return takeName([&] {
    descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor_ < 0)
      return false;
    hasName_ = true;
    // Before the lock it looks abandoned.
    if ((::flock(descriptor_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) &&
        isNameOf(temporary_, descriptor_))
      return true;
    ::close(descriptor_);
    descriptor_ = -1;
    hasName_ = false;
    errno = EEXIST;
    return false;
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
  // A name comes by way of the descriptor's entry there.
  if (::access("/proc/self/fd", X_OK) == 0)
    descriptor_ =
        ::open(folder.empty() ? "." : folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
  if (descriptor_ >= 0)
    (void)::flock(descriptor_, LOCK_EX | LOCK_NB); // for the moment in which it has a name
  else if (!create()) {
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

/// A name cannot be taken from another file by a link, only by a rename.
bool AtomicFile::link() {
  char entry[40];
  std::snprintf(entry, sizeof entry, "/proc/self/fd/%d", descriptor_);
  hasName_ = takeName([&] {
    return ::linkat(AT_FDCWD, entry, AT_FDCWD, temporary_.c_str(), AT_SYMLINK_FOLLOW) == 0;
  });
  return hasName_;
}

Status AtomicFile::commit() {
  flush();
  if (message_.empty() && isTemporary_ && ::fsync(descriptor_) != 0)
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
  if (!isTemporary_)
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

Status writeFileAtomically(const std::string &path, const std::string &text) {
  AtomicFile file(path);
  if (Status status = file.open(); !status)
    return status;
  file.write(text);
  return file.commit();
}

} // namespace mpc::data
