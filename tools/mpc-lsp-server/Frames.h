// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Messages of the Language Server Protocol on a descriptor: a header with the length, then JSON.
#ifndef MPC_TOOLS_MPC_LSP_SERVER_FRAMES_H
#define MPC_TOOLS_MPC_LSP_SERVER_FRAMES_H

#include "llvm/ADT/StringRef.h"

#include <cstdio>
#include <optional>
#include <string>

namespace mpc::lsp {

/// The next message; nothing at the end of the stream, or where what comes is none.
std::optional<std::string> readFrame(std::FILE *stream);

/// Whether it could be written whole.
bool writeFrame(int descriptor, llvm::StringRef message);

} // namespace mpc::lsp

#endif // MPC_TOOLS_MPC_LSP_SERVER_FRAMES_H
