// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Zip writer. libzip's own would need every member kept alive until the end and does not fsync.
#include "data/zip_writer.h"

#include "runtime/untrusted/outlets.h"

#include <zlib.h>

namespace mpc::data {

namespace {

void put(std::string &out, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i)
    out += static_cast<char>(value >> (8 * i));
}

constexpr uint64_t limit32 = 0xffffffff;
constexpr uint16_t date1980 = 1 << 5 | 1, utf8Names = 1 << 11;

uint32_t extendCrc(uint32_t crc, const void *data, size_t size) {
  const Bytef *bytes = static_cast<const Bytef *>(data);
  while (size) {
    uInt part = static_cast<uInt>(std::min<size_t>(size, 1u << 30));
    crc = static_cast<uint32_t>(::crc32(crc, bytes, part));
    bytes += part;
    size -= part;
  }
  return crc;
}

/// The fields that local and central headers share, up to the length of the name.
void putCommon(std::string &out, uint32_t crc, uint64_t size, bool wide, size_t nameLength) {
  put(out, wide ? 45 : 20, 2); // version needed
  put(out, utf8Names, 2);
  put(out, 0, 2); // stored
  put(out, 0, 2); // time
  put(out, date1980, 2);
  put(out, crc, 4);
  put(out, wide ? limit32 : size, 4);
  put(out, wide ? limit32 : size, 4);
  put(out, nameLength, 2);
}

} // namespace

Status checkMemberName(const std::string &path, const std::string &name) {
  if (untrusted::isMemberName(name))
    return Status();
  constexpr size_t shown = 100;
  return Failure(
      path + ":" + name.substr(0, shown) +
      (name.size() > shown ? "... (" + std::to_string(name.size()) + " bytes)" : "") +
      ": cannot be the name of a member of an archive; expected printable UTF-8 of at most 65535 "
      "bytes without '..', backslash, drive or root; rename the layer, variable or metric");
}

void ZipWriter::add(const std::string &name, const std::string &prefix, const void *data,
                    size_t size) {
  if (Status status = checkMemberName(path_, name); !status) {
    failure_.append(status.failure());
    return;
  }
  Member member{name, 0, prefix.size() + size, file_.offset()};
  member.crc =
      extendCrc(static_cast<uint32_t>(::crc32(0, nullptr, 0)), prefix.data(), prefix.size());
  member.crc = extendCrc(member.crc, data, size);
  bool wide = member.size >= limit32;
  std::string header;
  put(header, 0x04034b50, 4);
  putCommon(header, member.crc, member.size, wide, name.size());
  put(header, wide ? 20 : 0, 2);
  header += name;
  if (wide) {
    put(header, 1, 2);
    put(header, 16, 2);
    put(header, member.size, 8);
    put(header, member.size, 8);
  }
  file_.write(header);
  file_.write(prefix);
  file_.write(data, size);
  members_.push_back(std::move(member));
}

Status ZipWriter::finish() {
  if (!failure_.empty())
    return failure_;
  uint64_t begin = file_.offset();
  for (const Member &member : members_) {
    bool wide = member.size >= limit32 || member.offset >= limit32;
    std::string header;
    put(header, 0x02014b50, 4);
    put(header, 3 << 8 | 45, 2); // made by: UNIX
    putCommon(header, member.crc, member.size, wide, member.name.size());
    put(header, wide ? 28 : 0, 2);
    put(header, 0, 2);              // comment
    put(header, 0, 2);              // disk
    put(header, 0, 2);              // internal attributes
    put(header, 0100644u << 16, 4); // a plain file
    put(header, wide ? limit32 : member.offset, 4);
    header += member.name;
    if (wide) {
      put(header, 1, 2);
      put(header, 24, 2);
      put(header, member.size, 8);
      put(header, member.size, 8);
      put(header, member.offset, 8);
    }
    file_.write(header);
  }
  uint64_t end = file_.offset(), count = members_.size();
  std::string tail;
  bool wide = count >= 0xffff || begin >= limit32 || end - begin >= limit32;
  if (wide) {
    put(tail, 0x06064b50, 4);
    put(tail, 44, 8);
    put(tail, 3 << 8 | 45, 2);
    put(tail, 45, 2);
    put(tail, 0, 8); // disks
    put(tail, count, 8);
    put(tail, count, 8);
    put(tail, end - begin, 8);
    put(tail, begin, 8);
    put(tail, 0x07064b50, 4);
    put(tail, 0, 4);
    put(tail, end, 8);
    put(tail, 1, 4);
  }
  put(tail, 0x06054b50, 4);
  put(tail, 0, 4); // disks
  put(tail, wide ? 0xffff : count, 2);
  put(tail, wide ? 0xffff : count, 2);
  put(tail, wide ? limit32 : end - begin, 4);
  put(tail, wide ? limit32 : begin, 4);
  put(tail, 0, 2);
  file_.write(tail);
  return file_.commit();
}

} // namespace mpc::data
