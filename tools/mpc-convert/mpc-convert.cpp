// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mpc-convert: weights, optimizer state and loss-scale state between the files of Keras and mpc.
#include "tools/ExitOnSignals.h"
#include "tools/FatalErrors.h"
#include "tools/StackSize.h"
#include "tools/Streams.h"
#include "tools/mpc-convert/Convert.h"
#include "tools/mpc-convert/Options.h"

#include <csignal>

static int runTool(int argc, char **argv) {
  mpc::prepareStreams();
  mpc::exitOnSignals();
  mpc::reportFatalErrors();
  std::signal(SIGPIPE, SIG_IGN); // a closed pipe is a write error, reported as such
  mpc::ExitCode code = mpc::kExitDone;
  std::optional<mpc::ConvertOptions> options = mpc::parseConvertOptions(argc, argv, code);
  return options ? mpc::convertState(*options) : code;
}

int main(int argc, char **argv) {
  return mpc::runOnUsualStack([&] { return runTool(argc, argv); });
}
