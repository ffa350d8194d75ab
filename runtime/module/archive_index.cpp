// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/module/archive_index.h"
#include "runtime/base/status.h"
#include "runtime/untrusted/zip_directory.h"

#include <cerrno>
#include <cstring>
#include <set>
#include <sys/stat.h>
#include <unistd.h>

namespace mpc::rt {
namespace {

constexpr uint64_t maximumMembers = 1024;
constexpr const char *advice = "expected what mpcc --emit=archive wrote; compile the model again";

// On failure `error` is what the system said, or 0 at the end of the file.
bool readAt(int file, uint64_t offset, void *to, size_t size, int &error) {
  auto *bytes = static_cast<char *>(to);
  while (size) {
    const ssize_t count = ::pread(file, bytes, size, static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0) {
      error = count < 0 ? errno : 0;
      return false;
    }
    bytes += count;
    offset += static_cast<uint64_t>(count);
    size -= static_cast<size_t>(count);
  }
  return true;
}

// NAME of libNAME.so, in no folder; "" for other members.
std::string nameOfLibrary(const std::string &member) {
  const bool isLibrary = member.size() > 6 && member.compare(0, 3, "lib") == 0 &&
                         member.compare(member.size() - 3, 3, ".so") == 0 &&
                         member.find('/') == std::string::npos;
  return isLibrary ? member.substr(3, member.size() - 6) : "";
}

// The only library's NAME, of members whose names differ.
mpc_rt_status_t findName(const untrusted::ZipDirectory &directory, const char *path,
                         std::string &name) {
  std::set<std::string> names;
  for (const untrusted::ZipMember &member : directory.members) {
    if (!names.insert(member.name).second)
      return fail(MPC_RT_DATA_LOSS, "%s:%s: is there twice; %s", path, member.name.c_str(), advice);
    const std::string found = nameOfLibrary(member.name);
    if (!found.empty() && !name.empty())
      return fail(MPC_RT_FAILED_PRECONDITION,
                  "%s: holds the libraries of the models '%s' and '%s'; expected one; make an "
                  "archive of each by mpcc --emit=archive",
                  path, name.c_str(), found.c_str());
    if (!found.empty())
      name = found;
  }
  if (name.empty())
    return fail(MPC_RT_FAILED_PRECONDITION,
                "%s: is a zip archive such as Keras's .keras, no compiled model; expected "
                "libNAME.so, the folder that holds it, or an archive with it; compile a Keras "
                "model with mpcc, which writes one",
                path);
  return MPC_RT_OK;
}

} // namespace

bool isZip(int file) noexcept {
  char start[4];
  int error = 0;
  return readAt(file, 0, start, sizeof start, error) && std::memcmp(start, "PK\3\4", 4) == 0;
}

mpc_rt_status_t readArchiveIndex(int file, const char *path, ArchiveIndex &index) {
  struct stat info;
  if (::fstat(file, &info) != 0 || !S_ISREG(info.st_mode))
    return fail(MPC_RT_NOT_FOUND, "%s: is no regular file; expected a compiled model", path);
  int error = 0;
  const untrusted::ZipDirectory directory = untrusted::readZipDirectory(
      [&](uint64_t offset, void *to, size_t size) { return readAt(file, offset, to, size, error); },
      static_cast<uint64_t>(info.st_size), maximumMembers);
  if (error)
    return fail(MPC_RT_UNAVAILABLE, "%s: cannot be read: %s", path, std::strerror(error));
  if (!directory.fault.empty())
    return fail(MPC_RT_DATA_LOSS, "%s%s%s: is no sound archive: it %s; %s", path,
                directory.faultyMember.empty() ? "" : ":", directory.faultyMember.c_str(),
                directory.fault.c_str(), advice);
  if (auto status = findName(directory, path, index.name))
    return status;
  std::optional<ArchivePart> library, manifest;
  for (const untrusted::ZipMember &member : directory.members) {
    std::optional<ArchivePart> *part = member.name == "lib" + index.name + ".so"    ? &library
                                       : member.name == index.name + ".json"        ? &manifest
                                       : member.name == index.name + ".safetensors" ? &index.weights
                                                                                    : nullptr;
    if (!part)
      continue;
    if (member.method != 0)
      return fail(MPC_RT_FAILED_PRECONDITION,
                  "%s:%s: is compressed; expected it stored as it is, to be used where it lies; "
                  "make the archive again by mpcc --emit=archive or zip -0",
                  path, member.name.c_str());
    *part = {std::string(path) + ":" + member.name, member.end - member.size, member.size};
  }
  if (!manifest)
    return fail(MPC_RT_FAILED_PRECONDITION, "%s: lacks %s.json, the manifest; %s", path,
                index.name.c_str(), advice);
  index.library = std::move(*library);
  index.manifest = std::move(*manifest);
  return MPC_RT_OK;
}

} // namespace mpc::rt
