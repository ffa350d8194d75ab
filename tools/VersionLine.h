// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// --version of the tools that MLIR's libraries drive, in place of LLVM's own text.
#ifndef MPC_TOOLS_VERSION_LINE_H
#define MPC_TOOLS_VERSION_LINE_H

#include "llvm/Support/CommandLine.h"

namespace mpc {

inline void setVersionLine(const char *tool) {
  llvm::cl::SetVersionPrinter(
      [tool](llvm::raw_ostream &os) { os << tool << " " MPC_VERSION "\n"; });
}

} // namespace mpc

#endif // MPC_TOOLS_VERSION_LINE_H
