// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The command line of mpcc.
#ifndef MPC_TOOLS_MPCC_OPTIONS_H
#define MPC_TOOLS_MPCC_OPTIONS_H

#include "mpc/Driver/Compile.h"

namespace mpc {

/// Parses the command line; prints help, version and usage errors itself. Empty: exit with `code`.
std::optional<CompileOptions> parseCommandLine(int argc, char **argv, ExitCode &code);

} // namespace mpc

#endif // MPC_TOOLS_MPCC_OPTIONS_H
