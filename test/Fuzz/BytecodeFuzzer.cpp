// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// IR as bytecode, which begins with four bytes that no other file has.
#include "test/Fuzz/FuzzedIR.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string bytes(reinterpret_cast<const char *>(data), size);
  bytes.replace(0, std::min<size_t>(size, 4), "ML\xefR");
  readFuzzedIR(bytes);
  return 0;
}
