// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mpcc: compiles a model ahead of time.
#include "tools/mpcc/Options.h"

int main(int argc, char **argv) {
  mpc::ExitCode code = mpc::kExitDone;
  std::optional<mpc::CompileOptions> options = mpc::parseCommandLine(argc, argv, code);
  return options ? mpc::compileModel(*options) : code;
}
