// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// IDX, MNIST's format, plain and gzipped.
#include "runtime/data/idx.h"
#include "test/Fuzz/MemoryFile.h"

using namespace mpc::data;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static MemoryFile file;
  static const std::string path = file.path();
  file.setContent(data, size);
  Result<Array> array = readIdx(path);
  if (array && array->bytes() != byteSize(array->dims(), dtypeInfo(array->dtype())->bytes))
    __builtin_trap();
  return 0;
}
