// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// PKWARE APPNOTE 6.3.9, sections 4.3 and 4.5.3.
#include "runtime/untrusted/zip_records.h"

namespace mpc::untrusted {

namespace {

void put(std::string &out, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i)
    out += static_cast<char>(value >> (8 * i));
}

constexpr uint64_t allOnes = 0xffffffff; // the true value is in the extra field
constexpr uint16_t date1980 = 1 << 5 | 1, utf8Names = 1 << 11;

/// The fields that local and central headers share, up to the length of the name.
void putCommon(std::string &out, const StoredMember &member, bool wide) {
  put(out, wide ? 45 : 20, 2); // version needed
  put(out, utf8Names, 2);
  put(out, 0, 2); // stored
  put(out, 0, 2); // time
  put(out, date1980, 2);
  put(out, member.crc, 4);
  put(out, wide ? allOnes : member.size, 4);
  put(out, wide ? allOnes : member.size, 4);
  put(out, member.name.size(), 2);
}

std::string centralHeader(const StoredMember &member) {
  const bool wide = member.size >= allOnes || member.offset >= allOnes;
  std::string header;
  put(header, 0x02014b50, 4);
  put(header, 3 << 8 | 45, 2); // made by: UNIX
  putCommon(header, member, wide);
  put(header, wide ? 28 : 0, 2);
  put(header, 0, 2);              // comment
  put(header, 0, 2);              // disk
  put(header, 0, 2);              // internal attributes
  put(header, 0100644u << 16, 4); // a plain file
  put(header, wide ? allOnes : member.offset, 4);
  header += member.name;
  if (wide) {
    put(header, 1, 2);
    put(header, 24, 2);
    put(header, member.size, 8);
    put(header, member.size, 8);
    put(header, member.offset, 8);
  }
  return header;
}

} // namespace

std::string zipLocalHeader(const StoredMember &member) {
  const bool wide = member.size >= allOnes;
  std::string header;
  put(header, 0x04034b50, 4);
  putCommon(header, member, wide);
  put(header, wide ? 20 : 0, 2);
  header += member.name;
  if (wide) {
    put(header, 1, 2);
    put(header, 16, 2);
    put(header, member.size, 8);
    put(header, member.size, 8);
  }
  return header;
}

std::string zipEnd(const std::vector<StoredMember> &members, uint64_t offset) {
  std::string out;
  for (const StoredMember &member : members)
    out += centralHeader(member);
  const uint64_t size = out.size(), count = members.size();
  const bool wide = count >= 0xffff || offset >= allOnes || size >= allOnes;
  if (wide) {
    put(out, 0x06064b50, 4);
    put(out, 44, 8);
    put(out, 3 << 8 | 45, 2);
    put(out, 45, 2);
    put(out, 0, 8); // disks
    put(out, count, 8);
    put(out, count, 8);
    put(out, size, 8);
    put(out, offset, 8);
    put(out, 0x07064b50, 4);
    put(out, 0, 4);
    put(out, offset + size, 8);
    put(out, 1, 4);
  }
  put(out, 0x06054b50, 4);
  put(out, 0, 4); // disks
  put(out, wide ? 0xffff : count, 2);
  put(out, wide ? 0xffff : count, 2);
  put(out, wide ? allOnes : size, 4);
  put(out, wide ? allOnes : offset, 4);
  put(out, 0, 2);
  return out;
}

} // namespace mpc::untrusted
