// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mpcc: compiles a model ahead of time.
#include "tools/ExitOnSignals.h"
#include "tools/FatalErrors.h"
#include "tools/StackSize.h"
#include "tools/Streams.h"
#include "tools/mpcc/Options.h"
#include "tools/mpcc/WeightsFile.h"
#include "untrusted/outlets.h"
#include "llvm/Support/CrashRecoveryContext.h"
#include "llvm/Support/WithColor.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define MPC_ADDRESS_SANITIZER 1
#endif
#endif

static int runTool(int argc, char **argv) {
  mpc::prepareStreams();
  mpc::exitOnSignals();
  mpc::reportFatalErrors();
  mpc::ExitCode code = mpc::kExitDone;
  std::optional<mpc::CompileOptions> options = mpc::parseCommandLine(argc, argv, code);
  if (!options)
    return code;
  options->readWeights = mpc::readWeightsFile;
#ifndef MPC_ADDRESS_SANITIZER // which has more to say of a crash
  llvm::CrashRecoveryContext::Enable();
#endif
  llvm::CrashRecoveryContext crash;
  if (crash.RunSafely([&] { code = mpc::compileModel(*options); }))
    return code;
  const std::string model = mpc::untrusted::forLine(options->model);
  llvm::WithColor::error(llvm::errs())
      << model << ": internal error: mpcc crashed, whatever the model is; please report it "
      << "with this command and the reproducer " << model << "\n";
  // Other threads may wait for what is gone.
  ::_exit(mpc::kExitInternal);
}

int main(int argc, char **argv) {
  return mpc::runOnUsualStack([&] { return runTool(argc, argv); });
}
