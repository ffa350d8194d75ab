// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads a file that a user names as an input, to its end where it has one.
#ifndef MPC_SUPPORT_INPUTFILE_H
#define MPC_SUPPORT_INPUTFILE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/ErrorOr.h"
#include "llvm/Support/MemoryBuffer.h"
#include <memory>

namespace mpc {

/// A file, mapped where that is of use, or all of a pipe; `-` is standard input. Of devices, some
/// of which never end (/dev/zero), at most 64 MiB are taken, which no one types: `file_too_large`.
/// `isVolatile`: a copy, for what another process may write meanwhile.
llvm::ErrorOr<std::unique_ptr<llvm::MemoryBuffer>> readInputFile(llvm::StringRef path,
                                                                 bool isVolatile = false);

} // namespace mpc

#endif // MPC_SUPPORT_INPUTFILE_H
