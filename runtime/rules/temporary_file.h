// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How files are written that appear whole or not at all, stated once for compiler and runtime: into
// a file without a name, which gets a temporary one just before it replaces another. A writer holds
// a lock on its file as long as it lives, so that the next one knows and removes what a killed one
// left.
#ifndef MPC_RUNTIME_RULES_TEMPORARY_FILE_H
#define MPC_RUNTIME_RULES_TEMPORARY_FILE_H

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <string>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace mpc::rules {

inline bool isNameOf(const std::string &path, int descriptor) {
  struct stat named, open;
  return ::lstat(path.c_str(), &named) == 0 && ::fstat(descriptor, &open) == 0 &&
         named.st_dev == open.st_dev && named.st_ino == open.st_ino;
}

// On whatever machine the writer is.
inline bool removeAbandoned(const std::string &path) {
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

// Calls take(name) with the temporary names nameOf(number) until one is free; empty, and errno says
// why, where none is.
template <typename NameOf, typename Take>
std::string takeTemporaryName(const NameOf &nameOf, const Take &take) {
  constexpr unsigned mostNames = 100; // as many may write the same file at once
  for (unsigned number = 0; number < mostNames; ++number) {
    std::string name = nameOf(number);
    if (take(name.c_str()))
      return name;
    if (errno != EEXIST)
      return "";
    if (removeAbandoned(name) && take(name.c_str()))
      return name;
  }
  errno = EEXIST;
  return "";
}

// A file without a name in this folder; -1 where the file system has none.
inline int openUnnamed(const std::string &folder) {
  // A name comes by way of the descriptor's entry there.
  if (::access("/proc/self/fd", X_OK) != 0)
    return -1;
  const int descriptor = ::open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
  if (descriptor >= 0)
    (void)::flock(descriptor, LOCK_EX | LOCK_NB); // for the moment in which it has a name
  return descriptor;
}

// A name cannot be taken from another file by a link, only by a rename.
inline bool linkUnnamed(int descriptor, const char *name) {
  char entry[40];
  std::snprintf(entry, sizeof entry, "/proc/self/fd/%d", descriptor);
  return ::linkat(AT_FDCWD, entry, AT_FDCWD, name, AT_SYMLINK_FOLLOW) == 0;
}

// A new file of this name, locked; -1, and errno says why.
inline int createLocked(const char *name) {
  const int descriptor = ::open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor < 0)
    return -1;
  // Before the lock it looks abandoned.
  if ((::flock(descriptor, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) &&
      isNameOf(name, descriptor))
    return descriptor;
  ::close(descriptor);
  errno = EEXIST;
  return -1;
}

} // namespace mpc::rules

#endif
