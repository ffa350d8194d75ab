// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Models that are one file: what is found lies in the file, and the manifest and the weights can be
// read there. Libraries are not loaded: that runs their code.
#include "runtime/data/mapped_file.h"
#include "runtime/data/safetensors.h"
#include "runtime/module/archive_index.h"
#include "test/Fuzz/MemoryFile.h"

#include <fcntl.h>
#include <unistd.h>

using namespace mpc;

static void checkPart(int file, uint64_t size, const rt::ArchivePart &part) {
  if (part.begin > size || part.size > size - part.begin)
    __builtin_trap();
  auto mapped = data::MappedFile::map(file, part.begin, part.size, part.place);
  if (!mapped)
    __builtin_trap();
  unsigned sum = 0; // reads each byte
  for (uint64_t i = 0; i < part.size; ++i)
    sum += (*mapped)->data()[i];
  volatile unsigned read = sum;
  (void)read;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static MemoryFile memory;
  memory.setContent(data, size);
  const int file = ::open(memory.path().c_str(), O_RDONLY | O_CLOEXEC);
  rt::ArchiveIndex index;
  if (file < 0)
    __builtin_trap();
  if (rt::readArchiveIndex(file, "fuzzed", index) == MPC_RT_OK) {
    checkPart(file, size, index.library);
    checkPart(file, size, index.manifest);
    if (index.weights) {
      checkPart(file, size, *index.weights);
      auto mapped = data::MappedFile::map(file, index.weights->begin, index.weights->size, "w");
      if (mapped)
        (void)data::viewSafetensors(*mapped, (*mapped)->data(), (*mapped)->size(), "w");
    }
  }
  ::close(file);
  return 0;
}
