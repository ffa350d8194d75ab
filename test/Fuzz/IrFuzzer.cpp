// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// IR as text.
#include "test/Fuzz/FuzzedIR.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  // The parser wants a null character behind the text.
  const std::string text(reinterpret_cast<const char *>(data), size);
  if (!llvm::StringRef(text).starts_with("ML\xefR"))
    readFuzzedIR(text);
  return 0;
}
