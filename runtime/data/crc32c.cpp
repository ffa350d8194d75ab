// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// CRC-32C by eight tables (slicing by 8: Kounavis and Berry, 2005).
#include "runtime/data/crc32c.h"

#include <array>
#include <cstring>

namespace mpc::data {

using Tables = std::array<std::array<uint32_t, 256>, 8>;

static Tables makeTables() {
  Tables tables{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit)
      value = value & 1 ? value >> 1 ^ 0x82f63b78u : value >> 1;
    tables[0][i] = value;
  }
  for (uint32_t i = 0; i < 256; ++i)
    for (size_t t = 1; t < 8; ++t)
      tables[t][i] = tables[t - 1][i] >> 8 ^ tables[0][tables[t - 1][i] & 255];
  return tables;
}

uint32_t crc32c(uint32_t crc, const void *data, size_t size) {
  static const Tables tables = makeTables();
  const uint8_t *bytes = static_cast<const uint8_t *>(data);
  crc = ~crc;
  for (; size >= 8; size -= 8, bytes += 8) {
    uint64_t word;
    std::memcpy(&word, bytes, 8);
    word ^= crc;
    crc = 0;
    for (size_t t = 0; t < 8; ++t)
      crc ^= tables[7 - t][word >> (8 * t) & 255];
  }
  for (; size; --size)
    crc = crc >> 8 ^ tables[0][(crc ^ *bytes++) & 255];
  return ~crc;
}

} // namespace mpc::data
