// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mpc-translate --import-keras that knows the custom classes of the policy fixtures.
#include "mlir/Tools/mlir-translate/MlirTranslateMain.h"
#include "mpc/Import/Keras/Import.h"
#include "test/tools/mpc-translate-probes/ProbeLayers.h"

int main(int argc, char **argv) {
  mpc::keras::registerImportKeras();
  mpc::test::registerProbeLayers();
  return mlir::failed(mlir::mlirTranslateMain(argc, argv, "mpc translation with custom layers\n"));
}
