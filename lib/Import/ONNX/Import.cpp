// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A model as the reader hands it over, as IR and weights.
#include "mpc/Import/ONNX/Import.h"

#include "lib/Import/ONNX/Forms/Contributed.h"
#include "lib/Import/ONNX/Forms/RestoreForms.h"
#include "lib/Import/ONNX/GraphImporter.h"

namespace mpc::onnx {

llvm::Expected<ImportedModel> importOnnx(const Model &model, llvm::StringRef fileName,
                                         const ImportOptions &options, mlir::MLIRContext &context) {
  context.loadDialect<MpcDialect, mlir::func::FuncDialect>();
  Model formed = model; // whose tensors point to the same elements
  sortNodes(formed.graph);
  expandContributed(formed.graph);
  ImportedModel imported;
  std::optional<PathPattern> trainable;
  if (!options.trainable.empty())
    trainable.emplace(options.trainable);
  const auto trains = [&](llvm::StringRef name) { return isChosen(trainable, name); };
  for (RestoredForm &form : restoreForms(formed.graph, trains))
    imported.remarks.emplace_back(std::move(form.path), std::move(form.text));
  GraphImporter importer(context, formed, fileName, options, trainable);
  imported.module = importer.run();
  if (llvm::Error errors = importer.takeErrors())
    return std::move(errors);
  importer.forward.parameters->takeWeights(imported.weights);
  imported.warnings = importer.getWarnings().vec();
  imported.outputNames = std::move(importer.outputNames);
  return imported;
}

} // namespace mpc::onnx
