// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/module/archive.h"
#include "runtime/base/fork_watch.h"
#include "runtime/base/status.h"
#include "runtime/module/open_library.h"
#include "runtime/module/seal.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <mutex>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#ifndef MFD_EXEC
#define MFD_EXEC                                                                                   \
  0x0010U // Linux 6.3; where memory files are not executable unless they are asked to be
#endif

namespace mpc::rt {
namespace {

std::mutex lock;
// Never destroyed: threads may still run at exit.
std::vector<std::weak_ptr<Archive>> &known = *new std::vector<std::weak_ptr<Archive>>;

bool isEqual(const timespec &a, const timespec &b) {
  return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

int makeMemoryFile(const char *name) {
  const unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  const int memory = ::memfd_create(name, flags | MFD_EXEC);
  return memory < 0 && errno == EINVAL ? ::memfd_create(name, flags) : memory;
}

// The manifest that the library has itself, byte for byte: it says what policy, variables and
// entries the library was made with. `error` is what the system said of a read that failed.
bool hasManifest(int file, const ArchivePart &part, const char *manifest, int &error) {
  const size_t size = std::strlen(manifest);
  if (part.size != size)
    return false;
  std::vector<char> block(std::min<size_t>(size, 1 << 16));
  for (size_t done = 0; done < size;) {
    const ssize_t count = ::pread(file, block.data(), std::min(block.size(), size - done),
                                  static_cast<off_t>(part.begin + done));
    if (count < 0 && errno == EINTR)
      continue;
    error = count < 0 ? errno : 0;
    if (count <= 0 || std::memcmp(block.data(), manifest + done, static_cast<size_t>(count)) != 0)
      return false;
    done += static_cast<size_t>(count);
  }
  return true;
}

} // namespace

Archive::~Archive() {
  if (library_)
    dlclose(library_);
  ::close(file_);
}

bool Archive::identify(int file, Identity &identity) {
  struct stat info;
  if (::fstat(file, &info) != 0)
    return false;
  identity = {info.st_dev, info.st_ino, info.st_size, info.st_mtim, info.st_ctim};
  return true;
}

bool Archive::isSame(const Identity &other) const {
  return identity_.device == other.device && identity_.inode == other.inode &&
         identity_.size == other.size && isEqual(identity_.written, other.written) &&
         isEqual(identity_.changed, other.changed);
}

std::shared_ptr<Archive> Archive::find(const Identity &identity) {
  const ForkBarrier barrier;
  const std::lock_guard<std::mutex> held(lock);
  for (const std::weak_ptr<Archive> &each : known)
    if (std::shared_ptr<Archive> archive = each.lock(); archive && archive->isSame(identity))
      return archive;
  return nullptr;
}

void Archive::remember(const std::shared_ptr<Archive> &archive) {
  const ForkBarrier barrier;
  const std::lock_guard<std::mutex> held(lock);
  known.erase(std::remove_if(known.begin(), known.end(),
                             [](const std::weak_ptr<Archive> &each) { return each.expired(); }),
              known.end());
  known.push_back(archive);
}

mpc_rt_status_t Archive::open(const char *path, std::shared_ptr<Archive> &archive) {
  watchForks();
  const int file = ::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0)
    return fail(MPC_RT_NOT_FOUND, "%s: %s; expected a compiled model that can be read", path,
                std::strerror(errno));
  std::shared_ptr<Archive> opened;
  try {
    opened.reset(new Archive(file));
  } catch (...) {
    ::close(file);
    throw;
  }
  if (!identify(file, opened->identity_))
    return fail(MPC_RT_NOT_FOUND, "%s: %s", path, std::strerror(errno));
  if ((archive = find(opened->identity_)))
    return MPC_RT_OK;
  if (auto status = opened->load(path))
    return status;
  remember(opened);
  archive = std::move(opened);
  return MPC_RT_OK;
}

// A change of the archive meanwhile is either in the copy, and checked there, or not.
mpc_rt_status_t Archive::copyLibrary(int memory) const {
  const ArchivePart &part = index_.library;
  auto offset = static_cast<off_t>(part.begin);
  uint64_t left = part.size;
  while (left) {
    const ssize_t count =
        ::sendfile(memory, file_, &offset, std::min<uint64_t>(left, uint64_t{1} << 30));
    if (count < 0 && errno == EINTR)
      continue;
    if (count == 0)
      return fail(MPC_RT_DATA_LOSS, "%s: is cut off; expected the archive that mpcc wrote",
                  part.place.c_str());
    if (count < 0)
      return fail(errno == ENOSPC || errno == ENOMEM ? MPC_RT_RESOURCE_EXHAUSTED
                                                     : MPC_RT_UNAVAILABLE,
                  "%s: its %llu bytes cannot be copied to memory: %s", part.place.c_str(),
                  static_cast<unsigned long long>(part.size), std::strerror(errno));
    left -= static_cast<uint64_t>(count);
  }
  if (::fcntl(memory, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
    return fail(MPC_RT_UNAVAILABLE,
                "%s: its copy in memory cannot be sealed: %s; unpack the "
                "archive with unzip and open the library",
                part.place.c_str(), std::strerror(errno));
  return MPC_RT_OK;
}

mpc_rt_status_t Archive::load(const char *path) {
  if (auto status = readArchiveIndex(file_, path, index_))
    return status;
  const char *place = index_.library.place.c_str();
  const int memory = makeMemoryFile(index_.name.substr(0, 200).c_str());
  if (memory < 0)
    return fail(errno == EMFILE || errno == ENFILE || errno == ENOMEM ? MPC_RT_RESOURCE_EXHAUSTED
                                                                      : MPC_RT_UNAVAILABLE,
                "%s: no memory file to load it from: %s; unpack the archive with unzip and open "
                "the library",
                place, std::strerror(errno));
  auto status = copyLibrary(memory);
  if (!status)
    status = checkSeal(memory, place);
  if (!status) {
    library_ = openLibrary(memory);
    const char *reason = library_ ? nullptr : dlerror();
    if (!library_)
      status = fail(MPC_RT_FAILED_PRECONDITION,
                    "%s: not a loadable library: %s; compile the model again, or unpack the "
                    "archive with unzip where /proc is missing or memory is not executable",
                    place, reason ? reason : "unknown reason");
  }
  ::close(memory);
  return status;
}

mpc_rt_status_t Archive::checkParts(const mpc_rt_executable_t &executable) const {
  if (index_.name != executable.model_name)
    return fail(MPC_RT_FAILED_PRECONDITION,
                "%s: is the library of the model '%s'; expected that of '%s'; compile the model "
                "again",
                index_.library.place.c_str(), executable.model_name, index_.name.c_str());
  int error = 0;
  if (!hasManifest(file_, index_.manifest, executable.manifest ? executable.manifest : "", error))
    return error ? fail(MPC_RT_UNAVAILABLE, "%s: cannot be read: %s", index_.manifest.place.c_str(),
                        std::strerror(error))
                 : fail(MPC_RT_FAILED_PRECONDITION,
                        "%s: is not the manifest of the library in the archive; expected the two "
                        "that mpcc "
                        "wrote together; compile the model again",
                        index_.manifest.place.c_str());
  return MPC_RT_OK;
}

} // namespace mpc::rt
