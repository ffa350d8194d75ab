// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mlir-opt with the mpc dialects, passes and pipelines.
#include "dialects/mpc/IR/Mpc.h"
#include "dialects/mpcrt/IR/Mpcrt.h"
#include "mlir/InitAllDialects.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  registry.insert<mpc::MpcDialect, mpc::mpcrt::MpcrtDialect>();
  mpc::mpcrt::registerBufferizableOpInterfaceExternalModels(registry);
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "mpc optimizer\n", registry));
}
