// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MLIR's language server with the mpc dialects, in a child process, and a session between it and
// the editor.
#include "mlir/IR/Dialect.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"
#include "mpc/InitAll.h"
#include "tools/BugReport.h"
#include "tools/FatalErrors.h"
#include "tools/StackSize.h"
#include "tools/Streams.h"
#include "tools/UsageStatus.h"
#include "tools/VersionLine.h"
#include "tools/mpc-lsp-server/Session.h"

static int runServer(int argc, char **argv, mlir::DialectRegistry &registry) {
  mpc::UsageStatus status;
  return mlir::failed(mlir::MlirLspServerMain(argc, argv, registry));
}

/// Whether an editor talks to it: options are for questions and tests, but for the level of the
/// log.
static bool isSession(llvm::ArrayRef<const char *> words) {
  return llvm::all_of(words,
                      [](llvm::StringRef word) { return word.ltrim('-').starts_with("log="); });
}

static int runTool(int argc, char **argv) {
  mpc::prepareStreams();
  mpc::askForReports();
  mpc::reportFatalErrors();
  mpc::setVersionLine("mpc-lsp-server");
  mlir::DialectRegistry registry;
  mpc::registerAllDialects(registry);
  auto server = [&] { return runServer(argc, argv, registry); };
  const bool session = isSession({argv + 1, static_cast<size_t>(argc - 1)});
  return session ? mpc::lsp::runSession(registry, server) : server();
}

int main(int argc, char **argv) {
  return mpc::runOnUsualStack([&] { return runTool(argc, argv); });
}
