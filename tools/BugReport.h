// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The last words of crashing tools that MLIR's libraries drive: those install LLVM's handlers,
// whose text asks for reports to LLVM.
#ifndef MPC_TOOLS_BUG_REPORT_H
#define MPC_TOOLS_BUG_REPORT_H

#include "llvm/Support/PrettyStackTrace.h"

namespace mpc {

inline void askForReports() {
  llvm::setBugReportMsg("This is a bug of mpc, whatever its input is: please report it to mpc's "
                        "maintainers with the command and the input.\n");
}

} // namespace mpc

#endif // MPC_TOOLS_BUG_REPORT_H
