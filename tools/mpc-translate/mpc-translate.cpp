// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Model files to the mpc dialect, without any pass.
#include "mpc/Import/Keras/Import.h"

#include "mlir/Tools/mlir-translate/MlirTranslateMain.h"

int main(int argc, char **argv) {
  mpc::keras::registerImportKeras();
  return mlir::failed(mlir::mlirTranslateMain(argc, argv, "mpc translation\n"));
}
