// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The command line of mpc-convert (docs/tools.md).
#ifndef MPC_TOOLS_MPC_CONVERT_OPTIONS_H
#define MPC_TOOLS_MPC_CONVERT_OPTIONS_H

#include "mpc/Driver/Compile.h"

namespace mpc {

struct ConvertOptions {
  std::string input, output;
  /// How the model is read; `compile.model` is --model, empty for none. The training options are
  /// those that mpcc was given.
  CompileOptions compile;
};

/// Prints help, version and usage errors itself. Empty: exit with `code`.
std::optional<ConvertOptions> parseConvertOptions(int argc, char **argv, ExitCode &code);

} // namespace mpc

#endif // MPC_TOOLS_MPC_CONVERT_OPTIONS_H
