// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/module/seal.h"
#include "mpc-rt/seal.h"
#include "runtime/base/status.h"

#include <cstring>
#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace mpc::rt {
namespace {

class MappedLibrary {
public:
  explicit MappedLibrary(int file) {
    struct stat info;
    if (file >= 0 && fstat(file, &info) == 0 && S_ISREG(info.st_mode) && info.st_size > 0) {
      bytes = static_cast<size_t>(info.st_size);
      void *mapped = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, file, 0);
      if (mapped != MAP_FAILED)
        memory = static_cast<const unsigned char *>(mapped);
    }
  }
  ~MappedLibrary() {
    if (memory)
      munmap(const_cast<unsigned char *>(memory), bytes);
  }
  MappedLibrary(const MappedLibrary &) = delete;
  MappedLibrary &operator=(const MappedLibrary &) = delete;

  const unsigned char *memory = nullptr;
  size_t bytes = 0;
};

// mpcc writes the section headers last; what cut them off cut off more.
bool endsEarly(const MappedLibrary &library) {
  Elf64_Ehdr header;
  if (library.bytes < SELFMAG || std::memcmp(library.memory, ELFMAG, SELFMAG) != 0)
    return false; // the loader says that it is no library
  if (library.bytes < sizeof header)
    return true;
  std::memcpy(&header, library.memory, sizeof header);
  const uint64_t table = uint64_t{header.e_shnum} * header.e_shentsize;
  return header.e_shoff > library.bytes || table > library.bytes - header.e_shoff;
}

} // namespace

mpc_rt_status_t checkSeal(const char *path) noexcept {
  const int file = ::open(path, O_RDONLY | O_CLOEXEC);
  const mpc_rt_status_t status = checkSeal(file, path);
  if (file >= 0)
    ::close(file);
  return status;
}

mpc_rt_status_t checkSeal(int file, const char *place) noexcept {
  MappedLibrary library(file);
  if (!library.memory)
    return MPC_RT_OK; // the loader says why it cannot be read
  mpc_rt_seal_t seal = {};
  if (library.bytes > sizeof seal)
    std::memcpy(&seal, library.memory + library.bytes - sizeof seal, sizeof seal);
  const bool isSealed = std::memcmp(seal.magic, MPC_RT_SEAL_MAGIC, sizeof seal.magic) == 0;
  const size_t sealed = library.bytes - sizeof seal;
  const bool isDamaged =
      isSealed
          ? seal.bytes != sealed || seal.checksum != mpc_rt_seal_checksum(library.memory, sealed)
          : endsEarly(library);
  if (isDamaged)
    return fail(MPC_RT_DATA_LOSS,
                "%s: is damaged: %s; expected the file that mpcc wrote; compile the model again",
                place, isSealed ? "its checksum is another one" : "it ends too early");
  return MPC_RT_OK;
}

} // namespace mpc::rt
