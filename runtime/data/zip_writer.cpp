// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Zip writer. libzip's own would need every member kept alive until the end and does not fsync.
#include "runtime/data/zip_writer.h"

#include "runtime/untrusted/outlets.h"

#include <zlib.h>

namespace mpc::data {

namespace {

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
  untrusted::StoredMember member{name, 0, prefix.size() + size, file_.offset()};
  member.crc =
      extendCrc(static_cast<uint32_t>(::crc32(0, nullptr, 0)), prefix.data(), prefix.size());
  member.crc = extendCrc(member.crc, data, size);
  file_.write(untrusted::zipLocalHeader(member));
  file_.write(prefix);
  file_.write(data, size);
  members_.push_back(std::move(member));
}

Status ZipWriter::finish() {
  if (!failure_.empty())
    return failure_;
  file_.write(untrusted::zipEnd(members_, file_.offset()));
  return file_.commit();
}

} // namespace mpc::data
