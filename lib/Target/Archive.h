// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// NAME.mpc as one file (`--emit=archive`): a zip archive of library, header, manifest and weights,
// which the runtime opens as it opens the folder (runtime/module/archive_index.h).
#ifndef MPC_LIB_TARGET_ARCHIVE_H
#define MPC_LIB_TARGET_ARCHIVE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"
#include <functional>
#include <string>

namespace mpc {

struct ArchiveMember {
  std::string name;
  /// Hands out the member's bytes in pieces, twice the same.
  std::function<void(llvm::function_ref<void(llvm::StringRef)>)> forBytes;
  /// Begins on a page, to be mapped from the archive.
  bool isMapped = false;
};

/// The members as they are, not compressed. The same members give the same bytes.
void writeArchive(llvm::ArrayRef<ArchiveMember> members, llvm::raw_ostream &os);

} // namespace mpc

#endif // MPC_LIB_TARGET_ARCHIVE_H
