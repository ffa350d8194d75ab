// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// NumPy's .npz. Checksums of members would stop most changes of their content, so that those of
// stored members are made right first.
#include "runtime/data/npz.h"
#include "test/Fuzz/MemoryFile.h"

#include <cstring>
#include <vector>
#include <zlib.h>

using namespace mpc::data;

static uint64_t number(const std::vector<uint8_t> &bytes, size_t at, int count) {
  uint64_t value = 0;
  for (int i = 0; i < count; ++i)
    value |= uint64_t{bytes[at + i]} << 8 * i;
  return value;
}

/// CRC-32s of the central directory (PKWARE APPNOTE 4.3.12), and of the local headers that it
/// names.
static void repairChecksums(std::vector<uint8_t> &bytes) {
  constexpr size_t centralHeader = 46, localHeader = 30;
  for (size_t at = 0; at + centralHeader <= bytes.size(); ++at) {
    if (std::memcmp(&bytes[at], "PK\1\2", 4) != 0 || number(bytes, at + 10, 2) != 0)
      continue;
    const uint64_t size = number(bytes, at + 20, 4), local = number(bytes, at + 42, 4);
    if (local + localHeader > bytes.size())
      continue;
    const uint64_t content =
        local + localHeader + number(bytes, local + 26, 2) + number(bytes, local + 28, 2);
    if (content > bytes.size() || size > bytes.size() - content)
      continue;
    const auto crc =
        static_cast<uint32_t>(crc32(0, bytes.data() + content, static_cast<uInt>(size)));
    std::memcpy(&bytes[at + 16], &crc, sizeof crc);
    std::memcpy(&bytes[local + 14], &crc, sizeof crc);
  }
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static MemoryFile file;
  static const std::string path = file.path();
  std::vector<uint8_t> bytes(data, data + size);
  repairChecksums(bytes);
  file.setContent(bytes.data(), bytes.size());
  Result<NamedArrays> arrays = readNpz(path);
  if (!arrays && arrays.failure().empty())
    __builtin_trap();
  return 0;
}
