// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The abilities of the terminal that a person looks at.
#ifndef MPC_TOOLS_MPCC_TERMINAL_H
#define MPC_TOOLS_MPCC_TERMINAL_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Process.h"

namespace mpc {

inline bool wantsColor(llvm::StringRef color) {
  return color == "always" || (color == "auto" && llvm::sys::Process::StandardErrHasColors() &&
                               !llvm::sys::Process::GetEnv("NO_COLOR"));
}

/// Whether a line on stderr can be written again and again.
inline bool canRewriteLines() {
  const std::optional<std::string> terminal = llvm::sys::Process::GetEnv("TERM");
  return llvm::sys::Process::StandardErrIsDisplayed() && terminal && !terminal->empty() &&
         *terminal != "dumb";
}

} // namespace mpc

#endif // MPC_TOOLS_MPCC_TERMINAL_H
