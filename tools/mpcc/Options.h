// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The command line of mpcc.
#ifndef MPC_TOOLS_MPCC_OPTIONS_H
#define MPC_TOOLS_MPCC_OPTIONS_H

#include "mpc/Driver/Compile.h"
#include "tools/mpcc/search/SearchOptions.h"

namespace mpc {

struct CommandOptions : CompileOptions {
  /// `--policy=auto`; else none.
  std::optional<SearchOptions> search;
};

/// Parses the command line; prints help, version and usage errors itself. Empty: exit with `code`.
std::optional<CommandOptions> parseCommandLine(int argc, char **argv, ExitCode &code);

} // namespace mpc

#endif // MPC_TOOLS_MPCC_OPTIONS_H
