// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mlir-reduce with the mpc dialects and passes: shrinks IR on which a test still fails.
#include "mlir/IR/Dialect.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Reducer/Passes.h"
#include "mlir/Tools/mlir-reduce/MlirReduceMain.h"
#include "mpc/InitAll.h"
#include "mpc/Reducer/ReduceGraph.h"
#include "tools/BugReport.h"
#include "tools/EndlessInputs.h"
#include "tools/FatalErrors.h"
#include "tools/HostileIR.h"
#include "tools/StackSize.h"
#include "tools/Streams.h"
#include "tools/UsageStatus.h"
#include "tools/VersionLine.h"

static int runTool(int argc, char **argv) {
  mpc::prepareStreams();
  mpc::askForReports();
  mpc::reportFatalErrors();
  mpc::setVersionLine("mpc-reduce");
  if (mpc::refuseEndlessInput(argc, argv))
    return 1;
  mlir::registerReducerPasses();
  mpc::registerReduceGraph();
  mpc::registerAllPasses();
  mlir::DialectRegistry registry;
  mpc::registerAllDialects(registry);
  mpc::showDiagnostics(registry);
  if (mpc::refuseHostileIR(argc, argv, registry))
    return 1;
  mlir::MLIRContext context(registry);
  mpc::UsageStatus status;
  return mlir::failed(mlir::mlirReduceMain(argc, argv, context));
}

int main(int argc, char **argv) {
  return mpc::runOnUsualStack([&] { return runTool(argc, argv); });
}
