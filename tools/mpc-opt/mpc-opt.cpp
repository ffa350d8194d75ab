// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mlir-opt with the mpc dialects, passes and pipelines, and upstream's.
#include "mlir/IR/Dialect.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mpc/InitAll.h"
#include "tools/BugReport.h"

int main(int argc, char **argv) {
  mpc::askForReports();
  mlir::DialectRegistry registry;
  mpc::registerAllDialects(registry);
  mlir::registerAllPasses();
  mpc::registerAllPasses();
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "mpc optimizer\n", registry));
}
