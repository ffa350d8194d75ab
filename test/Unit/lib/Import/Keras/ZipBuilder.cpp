// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "test/Unit/lib/Import/Keras/ZipBuilder.h"

#include <cstdint>
#include <cstring>
#include <zip.h>

namespace mpc::test {
namespace {

uint32_t checksum(const std::string &bytes) {
  uint32_t crc = ~0u;
  for (unsigned char byte : bytes) {
    crc ^= byte;
    for (int bit = 0; bit < 8; ++bit)
      crc = (crc >> 1) ^ ((crc & 1) ? 0xEDB88320u : 0);
  }
  return ~crc;
}

void put(std::string &out, uint64_t value, int bytes) {
  for (int index = 0; index < bytes; ++index)
    out += char(value >> (8 * index));
}

/// The fields that local header and directory entry share.
void putCommon(std::string &out, const std::string &name, const std::string &data) {
  put(out, 10, 2); // version needed
  put(out, 0, 2);  // flags
  put(out, 0, 2);  // stored
  put(out, 0, 2);  // time
  put(out, 0x21, 2);
  put(out, checksum(data), 4);
  put(out, data.size(), 4);
  put(out, data.size(), 4);
  put(out, name.size(), 2);
  put(out, 0, 2); // extra field
}

} // namespace

std::string buildZip(const std::vector<std::pair<std::string, std::string>> &members) {
  std::string out, directory;
  for (const auto &[name, data] : members) {
    const size_t offset = out.size();
    out += "PK\x03\x04";
    putCommon(out, name, data);
    out += name + data;
    directory += "PK\x01\x02";
    put(directory, 10, 2); // version made by
    putCommon(directory, name, data);
    put(directory, 0, 2); // comment
    put(directory, 0, 2); // disk
    put(directory, 0, 2); // internal attributes
    put(directory, 0, 4); // external attributes
    put(directory, offset, 4);
    directory += name;
  }
  const size_t offset = out.size();
  out += directory;
  out += "PK\x05\x06";
  put(out, 0, 4);
  put(out, members.size(), 2);
  put(out, members.size(), 2);
  put(out, directory.size(), 4);
  put(out, offset, 4);
  put(out, 0, 2);
  return out;
}

std::string buildDeflatedZeros(const std::string &name, size_t size) {
  const std::string zeros(size, '\0');
  zip_error_t error;
  zip_error_init(&error);
  zip_source_t *target = zip_source_buffer_create(nullptr, 0, 0, &error);
  zip_source_keep(target);
  zip_t *archive = zip_open_from_source(target, ZIP_TRUNCATE, &error);
  zip_source_t *data = zip_source_buffer(archive, zeros.data(), zeros.size(), 0);
  zip_file_add(archive, name.c_str(), data, 0);
  zip_close(archive);
  zip_source_open(target);
  zip_source_seek(target, 0, SEEK_END);
  std::string out(size_t(zip_source_tell(target)), '\0');
  zip_source_seek(target, 0, SEEK_SET);
  zip_source_read(target, out.data(), out.size());
  zip_source_close(target);
  zip_source_free(target);
  return out;
}

} // namespace mpc::test
