// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Entries have names that LLVM's pruneCache knows, which removes what was not used for longest. The
// time of a file is that of its last use, to the hour.
#include "lib/Codegen/CPU/ObjectCache.h"
#include "mpc/Support/Sha256.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/CachePruning.h"
#include <cerrno>
#include <ctime>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace mpc;
using llvm::StringRef;

static constexpr StringRef kMagic = "mpc object 1\n";
static constexpr size_t kChecksumSize = 64;
static constexpr time_t kHour = 3600;
/// No function is as large: what is larger is none of ours.
static constexpr uint64_t kLargestEntry = uint64_t(64) << 20;
/// pruneCache touches no other files.
static constexpr StringRef kPrefix = "llvmcache-";

namespace {
struct Descriptor {
  int number;
  explicit Descriptor(int number) : number(number) {}
  ~Descriptor() {
    if (number >= 0)
      ::close(number);
  }
  Descriptor(const Descriptor &) = delete;
};
} // namespace

/// Others can neither own nor write it.
static bool isOwn(const struct stat &about) {
  return about.st_uid == ::geteuid() && (about.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

static llvm::Error folderError(StringRef path, const llvm::Twine &what) {
  return llvm::createStringError(path + ": " + what);
}

/// With the folders on the way to it, for this user alone.
static void makeFolders(const std::string &path) {
  for (size_t slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
    ::mkdir(path.substr(0, slash).c_str(), 0700);
    if (slash == std::string::npos)
      return;
  }
}

llvm::Expected<std::unique_ptr<ObjectCache>> ObjectCache::open(StringRef folder, StringRef compiler,
                                                               uint64_t mostBytes) {
  const std::string path = folder.str();
  makeFolders(path);
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0)
    return folderError(path, "cannot be opened: " + llvm::Twine(std::strerror(errno)));
  std::unique_ptr<ObjectCache> cache(new ObjectCache(descriptor, compiler, mostBytes));
  struct stat about = {};
  if (::fstat(descriptor, &about) != 0 || !isOwn(about))
    return folderError(path, "others own it or can write to it; expected a folder of this user "
                             "alone (chmod 700)");
  return cache;
}

ObjectCache::~ObjectCache() { ::close(folder); }

std::string ObjectCache::entryOf(StringRef key) const {
  return kPrefix.str() + Sha256::of(compiler + '\0' + key.str());
}

/// Over the name, too: an entry is no other one.
static std::string checksumOf(StringRef entry, StringRef object) {
  Sha256 hash;
  hash.update(entry);
  hash.update(object);
  return hash.finish();
}

/// All of a file of this size; empty where it has another one.
static std::string readAll(int file, size_t size) {
  std::string content(size, '\0');
  size_t done = 0;
  while (done < size) {
    const ssize_t count = ::read(file, content.data() + done, size - done);
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      return "";
    done += size_t(count);
  }
  return content;
}

std::optional<std::string> ObjectCache::find(StringRef key) {
  const std::string entry = entryOf(key);
  Descriptor file(::openat(folder, entry.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat about = {};
  if (file.number < 0 || ::fstat(file.number, &about) != 0)
    return std::nullopt;
  if (S_ISREG(about.st_mode) && isOwn(about) && uint64_t(about.st_size) <= kLargestEntry) {
    const std::string content = readAll(file.number, size_t(about.st_size));
    StringRef rest = content;
    if (rest.consume_front(kMagic) && rest.size() > kChecksumSize) {
      StringRef checksum = rest.take_front(kChecksumSize), object = rest.drop_front(kChecksumSize);
      if (checksum == checksumOf(entry, object)) {
        if (::time(nullptr) - about.st_mtime > kHour)
          ::futimens(file.number, nullptr);
        return object.str();
      }
    }
  }
  ::unlinkat(folder, entry.c_str(), 0); // a new one takes its place
  return std::nullopt;
}

bool ObjectCache::write(const std::string &entry, StringRef content) {
  // Nobody else in this folder has the number of this process; on another machine, one of the two
  // writes nothing.
  const std::string temporary =
      kPrefix.str() + std::to_string(::getpid()) + "-" + std::to_string(++writes) + ".new";
  const int descriptor =
      ::openat(folder, temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (descriptor < 0)
    return errno == EEXIST;
  Descriptor file(descriptor);
  while (!content.empty()) {
    const ssize_t count = ::write(file.number, content.data(), content.size());
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      break;
    content = content.drop_front(size_t(count));
  }
  // No fsync: what a crash of the machine leaves fails its checksum.
  if (content.empty() && ::renameat(folder, temporary.c_str(), folder, entry.c_str()) == 0)
    return true;
  const int code = errno;
  ::unlinkat(folder, temporary.c_str(), 0);
  errno = code;
  return false;
}

void ObjectCache::store(StringRef key, StringRef object) {
  const size_t size = kMagic.size() + kChecksumSize + object.size();
  // A disk that is full stays so for as long as a compilation takes.
  if (failed || size > kLargestEntry)
    return;
  const std::string entry = entryOf(key);
  if (!write(entry, kMagic.str() + checksumOf(entry, object) + object.str())) {
    failed = errno ? errno : EIO;
    return;
  }
  hasNew = true;
}

void ObjectCache::trim() {
  if (!hasNew)
    return;
  llvm::CachePruningPolicy policy;
  policy.Interval = std::chrono::minutes(1);
  policy.Expiration = std::chrono::seconds(0);
  policy.MaxSizeBytes = mostBytes;
  // By the descriptor: whatever has the folder's path now.
  llvm::pruneCache("/proc/self/fd/" + std::to_string(folder), policy);
}
