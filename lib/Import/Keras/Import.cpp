// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// From a file to an ImportedModel: reads, parses, builds the graph, matches the weights.
#include "mpc/Import/Keras/Import.h"

#include "GraphImporter.h"
#include "ModelWeights.h"
#include "mpc/Import/Keras/Archive.h"
#include "mpc/Import/Keras/InputError.h"

namespace mpc::keras {

llvm::Expected<ImportedModel> importKeras(llvm::StringRef path, const ImportOptions &options,
                                          mlir::MLIRContext &context) {
  // Volatile: read into memory, so that a file that changes meanwhile cannot end the process.
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                          /*RequiresNullTerminator=*/false, /*IsVolatile=*/true);
  if (!file)
    return inputError(path, "cannot read the file: " + file.getError().message());
  return importKeras(**file, options, context);
}

llvm::Expected<ImportedModel> importKeras(llvm::MemoryBufferRef file, const ImportOptions &options,
                                          mlir::MLIRContext &context) {
  context.loadDialect<MpcDialect, mlir::func::FuncDialect>();
  const llvm::StringRef fileName = file.getBufferIdentifier();
  Archive archive;
  switch (sniffContent(file.getBuffer())) {
  case FileKind::Hdf5:
    return inputError(fileName, "legacy HDF5 models are not supported yet; load the file in Keras "
                                "and save it as .keras");
  case FileKind::Json:
    archive.config = file.getBuffer().str();
    break;
  case FileKind::Zip:
  case FileKind::Other: { // the archive reader says best what is wrong with it
    llvm::Expected<Archive> read = readArchive(file);
    if (!read)
      return read.takeError();
    archive = std::move(*read);
    break;
  }
  }

  llvm::Expected<ModelConfig> config = parseModelConfig(archive.config, fileName);
  if (!config)
    return config.takeError();
  GraphImporter importer(context, fileName);
  ImportedModel model;
  model.name = config->name;
  model.module =
      importer.run(*config, options.moduleName.empty() ? config->name : options.moduleName);
  if (llvm::Error errors = importer.takeErrors())
    return std::move(errors);
  model.outputNames.assign(importer.getOutputNames().begin(), importer.getOutputNames().end());

  const bool isArchive = sniffContent(file.getBuffer()) == FileKind::Zip;
  if (options.readWeights && isArchive) {
    if (!archive.weights)
      return inputError(fileName, "the archive has no model.weights.h5; expected a .keras archive "
                                  "as Model.save writes it, or start from initializers "
                                  "(--initialize)");
    llvm::Expected<WeightFile> weights = readWeights(*archive.weights);
    if (!weights)
      return weights.takeError();
    if (llvm::Error errors = takeWeights(*weights, fileName, importer, model))
      return std::move(errors);
  }
  model.compileConfig = std::move(config->compileConfig);
  return model;
}

} // namespace mpc::keras
