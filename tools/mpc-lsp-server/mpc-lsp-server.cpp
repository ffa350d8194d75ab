// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The MLIR language server with the mpc dialects.
#include "mlir/IR/Dialect.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"
#include "mpc/InitAll.h"
#include "tools/BugReport.h"
#include "tools/FatalErrors.h"
#include "tools/StackSize.h"
#include "tools/Streams.h"
#include "tools/UsageStatus.h"
#include "tools/VersionLine.h"

static int runTool(int argc, char **argv) {
  mpc::prepareStreams();
  mpc::askForReports();
  mpc::reportFatalErrors();
  mpc::setVersionLine("mpc-lsp-server");
  mlir::DialectRegistry registry;
  mpc::registerAllDialects(registry);
  mpc::UsageStatus status;
  return mlir::failed(mlir::MlirLspServerMain(argc, argv, registry));
}

int main(int argc, char **argv) {
  return mpc::runOnUsualStack([&] { return runTool(argc, argv); });
}
