// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The directory of a zip archive, read before any member is: an archive whose members share bytes
// expands to many times its size although each member alone looks sound (Fifield, "A better zip
// bomb", WOOT 2019).
#ifndef MPC_UNTRUSTED_ZIP_DIRECTORY_H
#define MPC_UNTRUSTED_ZIP_DIRECTORY_H

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace mpc::untrusted {

struct ZipMember {
  std::string name;
  uint64_t size = 0, compressedSize = 0;
  uint64_t begin = 0, end = 0; // in the file: from the local header to behind the compressed bytes
  uint32_t crc = 0;
  uint16_t method = 0, flags = 0;
};

/// Members in the directory's order, or what is wrong: `fault`, and of which member (may be empty).
struct ZipDirectory {
  std::vector<ZipMember> members;
  std::string fault, faultyMember;
};

/// Reads exactly `size` bytes of the file at `offset`; false on failure.
using ReadAt = std::function<bool(uint64_t offset, void *to, size_t size)>;

/// Refused, beside damage: more than `maximumMembers`; members that overlap each other or the
/// directory, or lie outside of the file; local headers that contradict the directory; encrypted
/// members; archives of several files. A caller that reads members by another library compares what
/// that one found with this (isSame).
ZipDirectory readZipDirectory(const ReadAt &read, uint64_t fileSize, uint64_t maximumMembers);

/// Whether another reader found this member; its name may be null.
bool isSame(const ZipMember &member, const char *name, uint64_t size, uint64_t compressedSize,
            uint16_t method);

} // namespace mpc::untrusted
#endif
