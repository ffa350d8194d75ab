// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Translations into and out of the mpc dialect, without any pass: --import-keras, --import-onnx,
// --export-dot.
#include "mlir/Tools/mlir-translate/MlirTranslateMain.h"
#include "mlir/Tools/mlir-translate/Translation.h"
#include "mpc/Import/Keras/Import.h"
#include "mpc/Import/ONNX/Import.h"
#include "mpc/InitAll.h"
#include "mpc/Target/Dot.h"
#include "tools/BugReport.h"
#include "tools/EndlessInputs.h"
#include "tools/FatalErrors.h"
#include "tools/HostileIR.h"
#include "tools/PictureOptions.h"
#include "tools/StackSize.h"
#include "tools/Streams.h"
#include "tools/UsageStatus.h"
#include "tools/VersionLine.h"

static int runTool(int argc, char **argv) {
  mpc::PictureOptions plain(argc, argv);
  if (plain.isWrong())
    return 2;
  mpc::prepareStreams();
  mpc::askForReports();
  mpc::reportFatalErrors();
  mpc::setVersionLine("mpc-translate");
  mpc::keras::registerImportKeras();
  mpc::registerExportDot([](mlir::DialectRegistry &own) { mpc::showDiagnostics(own); });
  mpc::onnx::registerImportOnnx();
  mlir::DialectRegistry registry;
  mpc::registerAllDialects(registry);
  if (mpc::refuseEndlessInput(argc, argv) || mpc::refuseHostileIR(argc, argv, registry))
    return 1;
  mpc::UsageStatus status;
  const bool isDone = mlir::succeeded(mlir::mlirTranslateMain(argc, argv, "mpc translation\n"));
  return isDone ? 0 : 1; // as mpcc
}

int main(int argc, char **argv) {
  return mpc::runOnUsualStack([&] { return runTool(argc, argv); });
}
