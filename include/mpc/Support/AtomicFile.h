// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Files that are replaced as a whole or not at all.
#ifndef MPC_SUPPORT_ATOMICFILE_H
#define MPC_SUPPORT_ATOMICFILE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>
#include <utility>
#include <vector>

namespace mpc {

/// Writes all files into `directory` (made if missing): first every one under a temporary name,
/// with fsync, then renames them. On an error nothing is replaced and the temporaries are removed.
llvm::Error writeFilesAtomically(llvm::StringRef directory,
                                 const std::vector<std::pair<std::string, std::string>> &files);

} // namespace mpc

#endif // MPC_SUPPORT_ATOMICFILE_H
