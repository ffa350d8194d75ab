// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sixteen folders, by the first digit of an entry's name, each of which may have a sixteenth of the
// bytes: one is small enough to be looked through. The time of a file is that of its last use, to
// the hour.
#include "lib/Codegen/CPU/ObjectCache.h"
#include "mpc/Support/Sha256.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"
#include <cerrno>
#include <ctime>
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

using namespace mpc;
using llvm::StringRef;

static constexpr StringRef kMagic = "mpc object 1\n";
static constexpr size_t kChecksumSize = 64;
static constexpr unsigned kParts = 16;
static constexpr time_t kHour = 3600;
/// No function is as large: what is larger is none of ours.
static constexpr uint64_t kLargestEntry = uint64_t(64) << 20;
static constexpr StringRef kTemporarySuffix = ".new";

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

/// "a/bcd…", below the folder.
std::string ObjectCache::entryOf(StringRef key) const {
  std::string name = Sha256::of(compiler + '\0' + key.str());
  return name.substr(0, 1) + "/" + name.substr(1);
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
  const std::string temporary = entry.substr(0, 2) + std::to_string(::getpid()) + "-" +
                                std::to_string(++writes) + kTemporarySuffix.str();
  const auto create = [&] {
    return ::openat(folder, temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  };
  int descriptor = create();
  if (descriptor < 0 && errno == ENOENT) {
    ::mkdirat(folder, entry.substr(0, 1).c_str(), 0700);
    descriptor = create();
  }
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
  storedBytes += size;
  lastPart = unsigned(llvm::hexDigitValue(entry.front()));
}

void ObjectCache::trim() {
  if (storedBytes == 0)
    return;
  const uint64_t parts = 1 + storedBytes / (mostBytes / kParts / 4 + 1);
  for (unsigned i = 0; i < std::min<uint64_t>(parts, kParts); ++i)
    trimPart((lastPart + i) % kParts);
}

void ObjectCache::trimPart(unsigned part) {
  const std::string name(1, llvm::hexdigit(part, /*LowerCase=*/true));
  const int descriptor =
      ::openat(folder, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  DIR *directory = descriptor < 0 ? nullptr : ::fdopendir(descriptor);
  if (!directory) {
    if (descriptor >= 0)
      ::close(descriptor);
    return;
  }
  struct File {
    time_t used;
    uint64_t bytes;
    std::string name;
  };
  std::vector<File> files;
  uint64_t bytes = 0;
  const time_t now = ::time(nullptr);
  while (const dirent *entry = ::readdir(directory)) {
    struct stat about = {};
    if (::fstatat(descriptor, entry->d_name, &about, AT_SYMLINK_NOFOLLOW) != 0 ||
        S_ISDIR(about.st_mode))
      continue;
    // A process that was killed left it.
    if (StringRef(entry->d_name).ends_with(kTemporarySuffix)) {
      if (now - about.st_mtime > kHour)
        ::unlinkat(descriptor, entry->d_name, 0);
      continue;
    }
    files.push_back({about.st_mtime, (uint64_t(about.st_size) | 4095) + 1, entry->d_name});
    bytes += files.back().bytes;
  }
  llvm::sort(files, [](const File &a, const File &b) {
    return std::tie(a.used, a.name) < std::tie(b.used, b.name);
  });
  for (const File &file : files) {
    if (bytes <= mostBytes / kParts)
      break;
    ::unlinkat(descriptor, file.name.c_str(), 0);
    bytes -= file.bytes;
  }
  ::closedir(directory);
}
