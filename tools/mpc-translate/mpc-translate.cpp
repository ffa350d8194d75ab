// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Translations into and out of the mpc dialect, without any pass: --import-keras, --export-dot.
#include "mlir/Tools/mlir-translate/MlirTranslateMain.h"
#include "mpc/Import/Keras/Import.h"
#include "mpc/Target/Dot.h"
#include "tools/BugReport.h"
#include "tools/EndlessInputs.h"
#include "tools/FatalErrors.h"
#include "tools/StackSize.h"
#include "tools/Streams.h"
#include "tools/UsageStatus.h"

static int runTool(int argc, char **argv) {
  mpc::prepareStreams();
  mpc::askForReports();
  mpc::reportFatalErrors();
  if (mpc::refuseEndlessInput(argc, argv))
    return 1;
  mpc::keras::registerImportKeras();
  mpc::registerExportDot();
  mpc::UsageStatus status;
  return mlir::failed(mlir::mlirTranslateMain(argc, argv, "mpc translation\n"));
}

int main(int argc, char **argv) {
  return mpc::runOnUsualStack([&] { return runTool(argc, argv); });
}
