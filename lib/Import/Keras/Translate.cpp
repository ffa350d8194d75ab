// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mpc-translate --import-keras: the IR of a model file; weights are checked and left aside.
#include "mpc/Import/Keras/Import.h"

#include "dialects/mpc/IR/Mpc.h"

#include "mlir/Tools/mlir-translate/Translation.h"

#include "runtime/untrusted/outlets.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/WithColor.h"

namespace mpc::keras {

void registerImportKeras() {
  static mlir::TranslateToMLIRRegistration registration(
      "import-keras", "Keras model (.keras archive or architecture JSON) to the mpc dialect",
      [](llvm::SourceMgr &sources,
         mlir::MLIRContext *context) -> mlir::OwningOpRef<mlir::Operation *> {
        const llvm::MemoryBuffer *file = sources.getMemoryBuffer(sources.getMainFileID());
        llvm::Expected<ImportedModel> model = importKeras(*file, {}, *context);
        if (model)
          return mlir::OwningOpRef<mlir::Operation *>(model->module.release());
        llvm::handleAllErrors(model.takeError(), [](const llvm::ErrorInfoBase &error) {
          llvm::WithColor::error() << untrusted::forLine(error.message()) << "\n";
        });
        return {};
      },
      [](mlir::DialectRegistry &registry) { registry.insert<MpcDialect>(); });
}

} // namespace mpc::keras
