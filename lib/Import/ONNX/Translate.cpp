// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mpc-translate --import-onnx: the IR of a model file; weights are left aside.
#include "mpc/Import/ONNX/Import.h"

#include "dialects/mpc/IR/Mpc.h"

#include "mlir/Tools/mlir-translate/Translation.h"

#include "runtime/untrusted/outlets.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/WithColor.h"

namespace mpc::onnx {

static llvm::Expected<ImportedModel> importFile(const llvm::MemoryBuffer &file,
                                                mlir::MLIRContext &context) {
  const llvm::StringRef bytes = file.getBuffer(), name = file.getBufferIdentifier();
  llvm::Expected<Model> model = name == "<stdin>"
                                    ? readModel(llvm::ArrayRef(bytes.data(), bytes.size()), name)
                                    : readModel(name);
  if (!model)
    return model.takeError();
  return importOnnx(*model, name, {}, context);
}

void registerImportOnnx() {
  static mlir::TranslateToMLIRRegistration registration(
      "import-onnx", "ONNX model to the mpc dialect",
      [](llvm::SourceMgr &sources,
         mlir::MLIRContext *context) -> mlir::OwningOpRef<mlir::Operation *> {
        llvm::Expected<ImportedModel> model =
            importFile(*sources.getMemoryBuffer(sources.getMainFileID()), *context);
        if (model)
          return mlir::OwningOpRef<mlir::Operation *>(model->module.release());
        llvm::handleAllErrors(model.takeError(), [](const llvm::ErrorInfoBase &error) {
          llvm::WithColor::error() << untrusted::forLine(error.message()) << "\n";
        });
        return {};
      },
      [](mlir::DialectRegistry &registry) { registry.insert<MpcDialect>(); });
}

} // namespace mpc::onnx
