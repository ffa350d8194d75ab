// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mpcc: compiles a model ahead of time.
#include "runtime/untrusted/outlets.h"
#include "tools/ExitOnSignals.h"
#include "tools/FatalErrors.h"
#include "tools/OutOfMemory.h"
#include "tools/StackSize.h"
#include "tools/Streams.h"
#include "tools/WeightsFile.h"
#include "tools/mpcc/Options.h"
#include "tools/mpcc/search/SearchPolicy.h"
#include "llvm/Support/CrashRecoveryContext.h"
#include "llvm/Support/WithColor.h"

#include <cerrno>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define MPC_ADDRESS_SANITIZER 1
#endif
#endif

static int runTool(int argc, char **argv) {
  mpc::prepareStreams();
  mpc::exitOnSignals();
  mpc::reportFatalErrors();
  mpc::reportOutOfMemory("mpcc: out of memory");
  // LLVM's own containers ask malloc().
  llvm::install_bad_alloc_error_handler(
      [](void *, const char *, bool) { mpc::exitOutOfMemory(nullptr); });
  mpc::ExitCode code = mpc::kExitDone;
  std::optional<mpc::CommandOptions> options = mpc::parseCommandLine(argc, argv, code);
  if (!options)
    return code;
  static const std::string task = options->model + ": out of memory while compiling";
  mpc::reportOutOfMemory(task.c_str());
  options->readWeights = mpc::readWeightsFile;
#ifndef MPC_ADDRESS_SANITIZER   // which has more to say of a crash
  mpc::exitWhereMemoryIsNull(); // on a thread that this does not watch
  llvm::CrashRecoveryContext::Enable();
#endif
  llvm::CrashRecoveryContext crash;
  errno = 0;
  if (crash.RunSafely([&] { code = mpc::compileOrSearch(*options); }))
    return code;
  // MLIR does not ask whether malloc() gave it memory for an operation.
  if (errno == ENOMEM)
    mpc::exitOutOfMemory(nullptr);
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
