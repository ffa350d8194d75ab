// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// ONNX models on their way into a compilation.
#include "lib/Driver/ChooseTrainable.h"
#include "lib/Driver/Compilation.h"
#include "mpc/Import/ONNX/Import.h"

using namespace mlir;
using namespace mpc;

/// An ONNX model in place of a Keras one.
ExitCode mpc::loadOnnx(Compilation &compilation) {
  const CompileOptions &options = compilation.options;
  DiagnosticPrinter &diagnostics = compilation.diagnostics;
  MLIRContext &context = compilation.context;
  if (options.compileFrom && *options.compileFrom != Phase::Import) {
    diagnostics.error("--compile-from=" + stringifyPhase(*options.compileFrom) + ": " +
                      options.model + " is an ONNX model; expected IR of that phase");
    return kExitUsage;
  }
  onnx::ImportOptions importOptions;
  importOptions.moduleName = compilation.name;
  importOptions.inputShapes = options.inputShapes;
  importOptions.textWidths = options.textWidths;
  importOptions.batch = options.batch;
  importOptions.batchFirst = options.batchFirst;
  importOptions.trainable = options.trainable;
  std::optional<PolicySource> policy;
  if (!options.pipeline.policy.empty()) {
    // mpc-apply-policy, which reads it again, reports what is wrong with it.
    if (auto source = loadPolicyOption(options.pipeline.policy))
      policy.emplace(std::move(*source));
    else
      llvm::consumeError(source.takeError());
  }
  importOptions.policy = policy ? &*policy : nullptr;
  const StringRef bytes = compilation.file->getBuffer();
  // External data lies beside a file; standard input has none.
  llvm::Expected<onnx::Model> model =
      options.model == "-" ? onnx::readModel(ArrayRef(bytes.data(), bytes.size()), options.model)
                           : onnx::readModel(options.model);
  if (!model) {
    diagnostics.error(model.takeError());
    return kExitBadInput;
  }
  auto read = onnx::importOnnx(*model, options.model, importOptions, context);
  if (!read) {
    diagnostics.error(read.takeError());
    return kExitBadInput;
  }
  OwningOpRef<ModuleOp> &module = compilation.module;
  module = std::move(read->module);
  SmallVector<Attribute> outputNames;
  for (const std::string &output : read->outputNames)
    outputNames.push_back(StringAttr::get(&context, output));
  (*module)->setAttr(MpcDialect::kOutputNamesAttr, ArrayAttr::get(&context, outputNames));
  compilation.weights = std::move(read->weights);
  for (const auto &[path, text] : read->remarks)
    compilation.explanation.recordRemark(path, "mpc-onnx-form", text, {});
  for (const std::string &warning : read->warnings)
    diagnostics.warning(options.model + ": " + warning);
  if (ExitCode code = chooseTrainable(*module, options, {}, diagnostics); code != kExitDone)
    return code;
  if (ExitCode code = compilation.prepareTraining({}); code != kExitDone)
    return code;
  // Gradients of tables have all rows, as those of PyTorch's embeddings; Keras's have those that a
  // batch reads.
  for (OptimizerOp optimizer : module->getOps<OptimizerOp>())
    optimizer.setRowsAttr(RowGradientsAttr::get(&context, RowGradients::Dense));
  // The file's dtypes are part of its signature, unless a policy or a loss asks for others.
  compilation.keepsOutputTypes = !policy && !module->lookupSymbol("loss");
  return kExitDone;
}

ExitCode mpc::refuseTextWidths(const CompileOptions &options, DiagnosticPrinter &diagnostics) {
  if (options.textWidths.empty())
    return kExitDone;
  diagnostics.error("--text-width: is of texts of an ONNX model, which " + options.model +
                    " is not; leave it out");
  return kExitUsage;
}
