// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Opening below a folder: the kernel's openat2 where it is there, else folder by folder.
#include "lib/Import/ONNX/Reader/ExternalData.h"
#include "lib/Import/ONNX/Reader/Refuse.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

using namespace mpc::onnx;

namespace {
/// A descriptor that closes itself.
struct Descriptor {
  explicit Descriptor(int number) : number(number) {}
  Descriptor(const Descriptor &) = delete;
  Descriptor &operator=(const Descriptor &) = delete;
  ~Descriptor() {
    if (number >= 0)
      ::close(number);
  }
  int number;
};
} // namespace

/// The fault of the text alone; empty if it has none.
static llvm::StringRef faultOfLocation(llvm::StringRef location) {
  if (location.empty() || location.size() > 4096 || location.contains('\0'))
    return "has no file name";
  if (location.starts_with("/"))
    return "has an absolute path";
  llvm::SmallVector<llvm::StringRef> parts;
  location.split(parts, '/');
  for (llvm::StringRef part : parts)
    if (part == "..")
      return "has '..' in its path";
  return "";
}

/// Nothing blocks (a FIFO), nothing becomes the terminal, and the last name is no link.
static constexpr int kFlags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;

/// Without openat2: each folder is opened in the one before it, and none of them is a link.
static int openByFolders(int folder, llvm::StringRef location) {
  llvm::SmallVector<llvm::StringRef> parts;
  location.split(parts, '/', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  if (parts.empty())
    return -1;
  int current = ::dup(folder);
  for (size_t i = 0; i < parts.size() && current >= 0; ++i) {
    const int flags =
        i + 1 == parts.size() ? kFlags : O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW;
    const int next = ::openat(current, parts[i].str().c_str(), flags);
    const int code = errno;
    ::close(current);
    errno = code;
    current = next;
  }
  return current;
}

static int openBelow(int folder, llvm::StringRef location) {
  open_how how = {};
  how.flags = kFlags;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  const long opened = ::syscall(SYS_openat2, folder, location.str().c_str(), &how, sizeof how);
  // Old kernels do not know it, and filters of containers refuse it.
  if (opened < 0 && (errno == ENOSYS || errno == EPERM))
    return openByFolders(folder, location);
  return int(opened);
}

llvm::Expected<llvm::ArrayRef<char>> ExternalData::map(llvm::StringRef location) {
  if (const auto known = files.find(location); known != files.end())
    return known->second;
  if (folder.empty())
    return refuse("its elements lie in another file, and a model in memory has no folder; save the "
                  "model without external data, or give the path of its file");
  if (const llvm::StringRef fault = faultOfLocation(location); !fault.empty())
    return refuse("external data '" + location + "' " + fault +
                  "; expected a path below the model's folder");
  if (files.size() >= maximumFiles)
    return refuse("external data lie in more than " + llvm::Twine(maximumFiles) + " files");
  const Descriptor base(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  const Descriptor file(base.number < 0 ? -1 : openBelow(base.number, location));
  if (file.number < 0) {
    if (errno == ELOOP || errno == EXDEV || errno == ENOTDIR)
      return refuse("external data '" + location +
                    "' are reached through a link; expected a file below the model's folder; copy "
                    "it there");
    return refuse("external data '" + location + "' cannot be read: " + std::strerror(errno));
  }
  struct stat info;
  if (::fstat(file.number, &info) != 0 || !S_ISREG(info.st_mode))
    return refuse("external data '" + location + "' are no regular file");
  if (info.st_nlink != 1)
    return refuse("external data '" + location +
                  "' have more than one name (hard links); expected a file of the model alone; "
                  "copy it");
  llvm::ArrayRef<char> bytes;
  if (info.st_size > 0) {
    void *mapped = ::mmap(nullptr, size_t(info.st_size), PROT_READ, MAP_PRIVATE, file.number, 0);
    if (mapped == MAP_FAILED)
      return refuse("external data '" + location + "' cannot be mapped: " + std::strerror(errno));
    bytes = {static_cast<const char *>(mapped), size_t(info.st_size)};
  }
  files[location] = bytes;
  return bytes;
}

ExternalData::~ExternalData() {
  for (const auto &file : files)
    if (!file.second.empty())
      ::munmap(const_cast<char *>(file.second.data()), file.second.size());
}
