// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// CRC-32C in the header of a safetensors file.
#include "runtime/data/checksum.h"

#include "runtime/data/atomic_file.h"
#include "runtime/data/crc32c.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace mpc::data {

// Key and value of the checksum in the header as they are written; the digits follow the key.
static constexpr char checksumKey[] = "\"crc32c\":\"";
static constexpr size_t checksumDigits = 8;

static std::string hex(uint32_t value) {
  char text[checksumDigits + 1];
  std::snprintf(text, sizeof text, "%08x", value);
  return text;
}

/// The position of the digits; npos where the header says no checksum.
static size_t findDigits(std::string_view bytes) {
  uint64_t length = 0;
  if (bytes.size() < sizeof length)
    return std::string::npos;
  std::memcpy(&length, bytes.data(), sizeof length);
  const size_t end = std::min<uint64_t>(length, bytes.size() - sizeof length) + sizeof length;
  const auto found = std::search(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(end),
                                 checksumKey, checksumKey + sizeof checksumKey - 1);
  const size_t digits = static_cast<size_t>(found - bytes.begin()) + sizeof checksumKey - 1;
  return digits + checksumDigits <= end ? digits : std::string::npos;
}

Status writeWithChecksum(const std::string &path, Safetensors content) {
  content.metadata["crc32c"] = std::string(checksumDigits, '0');
  std::string header = formatSafetensorsHeader(content);
  uint32_t crc = crc32c(0, header.data(), header.size());
  for (auto at : fileOrder(content))
    crc = crc32c(crc, at->second.data(), at->second.bytes());
  header.replace(findDigits(header), checksumDigits, hex(crc));
  AtomicFile file(path);
  if (Status status = file.open(); !status)
    return status;
  file.write(header);
  for (auto at : fileOrder(content))
    file.write(at->second.data(), at->second.bytes());
  return file.commit();
}

bool hasChecksum(std::string_view bytes) { return findDigits(bytes) != std::string::npos; }

Status verifyChecksum(std::string_view bytes, const std::string &path) {
  const size_t digits = findDigits(bytes);
  if (digits == std::string::npos)
    return Failure(path + ": is no checkpoint of mpc-run; expected one with a checksum");
  const std::string zeros(checksumDigits, '0');
  uint32_t crc = crc32c(0, bytes.data(), digits);
  crc = crc32c(crc, zeros.data(), zeros.size());
  crc = crc32c(crc, bytes.data() + digits + checksumDigits, bytes.size() - digits - checksumDigits);
  std::string stated(bytes.substr(digits, checksumDigits));
  if (stated != hex(crc)) {
    for (char &digit : stated) // a damaged one may be anything
      digit = std::strchr("0123456789abcdef", digit) && digit ? digit : '?';
    return Failure(path + ": is damaged: its checksum is " + hex(crc) + ", not " + stated +
                   "; expected a whole file; use an older checkpoint");
  }
  return Status();
}

} // namespace mpc::data
