// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where the parts of a model are in the one file that `mpcc --emit=archive` writes: a zip archive
// of libNAME.so, NAME.h, NAME.json and, where the weights are not in the library, NAME.safetensors.
#ifndef MPC_RUNTIME_MODULE_ARCHIVE_INDEX_H
#define MPC_RUNTIME_MODULE_ARCHIVE_INDEX_H

#include "mpc-rt/status.h"

#include <cstdint>
#include <optional>
#include <string>

namespace mpc::rt {

// Bytes of the archive as they lie in it.
struct ArchivePart {
  std::string place; // ARCHIVE:MEMBER, for messages
  uint64_t begin = 0, size = 0;
};

struct ArchiveIndex {
  std::string name; // NAME
  ArchivePart library, manifest;
  std::optional<ArchivePart> weights;
};

// Whether a file begins as a zip archive does.
bool isZip(int file) noexcept;

// `path` is for messages. FAILED_PRECONDITION: a zip archive without a library, such as Keras's;
// members that do not belong together, or that are compressed. DATA_LOSS: a damaged archive. What
// the members hold is not looked at. Members of other names are the user's own.
mpc_rt_status_t readArchiveIndex(int file, const char *path, ArchiveIndex &index);

} // namespace mpc::rt

#endif
