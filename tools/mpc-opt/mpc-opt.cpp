// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mlir-opt with the mpc dialects, passes and pipelines, and upstream's.
#include "mlir/IR/Dialect.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mpc/InitAll.h"
#include "mpc/Numerics/Ranges/Ranges.h"
#include "tools/BugReport.h"
#include "tools/DataRanges.h"
#include "tools/EndlessInputs.h"
#include "tools/FatalErrors.h"
#include "tools/HostileIR.h"
#include "tools/StackSize.h"
#include "tools/Streams.h"
#include "tools/UsageStatus.h"
#include "tools/VersionLine.h"
#include "tools/WeightsFile.h"

/// Whether the passes of the command line and their options exist; else says what does not. Names
/// and options are text to the parser of the command line: MLIR reads them with the input.
static bool namesPipeline() {
  mlir::MLIRContext context;
  mlir::PassManager manager(&context);
  return mlir::succeeded(mlir::MlirOptMainConfig::createFromCLOptions().setupPassPipeline(manager));
}

static int runTool(int argc, char **argv) {
  mpc::prepareStreams();
  mpc::askForReports();
  mpc::reportFatalErrors();
  mpc::setVersionLine("mpc-opt");
  if (mpc::refuseEndlessInput(argc, argv))
    return 1;
  mlir::DialectRegistry registry;
  mpc::registerAllDialects(registry);
  mpc::showDiagnostics(registry);
  mlir::registerAllPasses();
  mpc::registerAllPasses();
  mlir::registerPass(
      [] { return mpc::createAnalyzeRanges(mpc::readWeightsFile, mpc::rangesOfData); });
  std::pair<std::string, std::string> files;
  {
    mpc::UsageStatus status;
    files = mlir::registerAndParseCLIOptions(argc, argv, "mpc optimizer\n", registry);
  }
  if (!namesPipeline())
    return 2;
  if (mpc::refuseHostileIR(argc, argv, registry))
    return 1;
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, files.first, files.second, registry));
}

int main(int argc, char **argv) {
  return mpc::runOnUsualStack([&] { return runTool(argc, argv); });
}
