// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mpcc: compiles a model ahead of time.
#include "tools/ExitOnSignals.h"
#include "tools/mpcc/Options.h"
#include "tools/mpcc/WeightsFile.h"

int main(int argc, char **argv) {
  mpc::exitOnSignals();
  mpc::ExitCode code = mpc::kExitDone;
  std::optional<mpc::CompileOptions> options = mpc::parseCommandLine(argc, argv, code);
  if (!options)
    return code;
  if (!mpc::readWeightsBeside(*options))
    return mpc::kExitBadInput;
  return mpc::compileModel(*options);
}
