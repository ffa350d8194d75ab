// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Headers and directory of a zip archive, as mpc writes them: stored members, dated
// 1980-01-01, with names in UTF-8; zip64 where a size or an offset needs it (PKWARE APPNOTE 6.3.9).
// The same members give the same bytes.
#ifndef MPC_UNTRUSTED_ZIP_RECORDS_H
#define MPC_UNTRUSTED_ZIP_RECORDS_H

#include <cstdint>
#include <string>
#include <vector>

namespace mpc::untrusted {

struct StoredMember {
  std::string name; // isMemberName() (outlets.h)
  uint32_t crc = 0; // CRC-32 of its bytes
  uint64_t size = 0;
  uint64_t offset = 0; // of its local header in the file
};

/// The header in front of a member's bytes.
std::string zipLocalHeader(const StoredMember &member);

/// The directory behind the last member; it begins at `offset` of the file.
std::string zipEnd(const std::vector<StoredMember> &members, uint64_t offset);

} // namespace mpc::untrusted
#endif
