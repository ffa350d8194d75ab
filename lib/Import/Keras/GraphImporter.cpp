// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The frame of the import. Calls.cpp, FunctionalGraph.cpp and StepwiseCalls.cpp walk the graph.
#include "lib/Import/Keras/GraphImporter.h"

namespace mpc::keras {

GraphImporter::GraphImporter(mlir::MLIRContext &context, const ModelConfig &model,
                             llvm::StringRef fileName, const ImportOptions &options,
                             const std::map<std::string, std::string> &vocabularies)
    : report(fileName, options.readWeights), tree(model, report, vocabularies),
      policies(context, options.policy, report),
      forward(context, fileName, options.moduleName.empty() ? model.name : options.moduleName),
      variables(tree, forward, report, model.trainable),
      modelInputs(model, options, forward, report), model(model) {}

mlir::OwningOpRef<mlir::ModuleOp> GraphImporter::run() {
  reportUnsupported(model, "", report, unsupported);
  Values outputs;
  if (!importModel(model, "", /*trainable=*/true, {}, outputs) && !report.hasErrors())
    report.error("", "the model could not be imported"); // every failure reports; this one did not
  if (outputs.empty() && !report.hasErrors())
    report.error("", "the model has no outputs");
  modelInputs.reportUnusedShapes();
  if (report.hasErrors())
    return {};
  return forward.finish(variables, outputs);
}

} // namespace mpc::keras
