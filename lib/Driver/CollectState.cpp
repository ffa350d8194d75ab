// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Variables, optimizer state and configuration of a Keras model, for mpc-convert.
#include "lib/Driver/Compilation.h"
#include "lib/Driver/OptimizerState.h"
#include "lib/Driver/WeightsBeside.h"
#include "mpc/Support/Dtype.h"

using namespace mlir;
using namespace mpc;

ExitCode Compilation::collectState(const llvm::MemoryBuffer *file, ModelState &state) {
  weightsFile = file;
  // No variable depends on an extent that Keras leaves open; long enough for every window.
  openExtent = 1024;
  if (ExitCode code = load(); code != kExitDone)
    return code;
  if (!imported) {
    diagnostics.error(options.model +
                      ": is no Keras model; expected a .keras archive, a legacy .h5 "
                      "model or a Keras architecture as JSON");
    return kExitBadInput;
  }
  last = Phase::Scaling;
  if (ExitCode code = runPhases(); code != kExitDone)
    return code;
  if (ExitCode code = takeOptimizerState(); code != kExitDone)
    return code;
  completeOptimizerState(*module, weights);
  state.layout.datasets = std::move(imported->datasets);
  state.layout.groups = std::move(imported->groups);
  state.layout.layers = std::move(imported->layers);
  state.merges = std::move(imported->merges);
  state.layout.scalesLoss = !module->getOps<LossScaleOp>().empty();
  for (VariableRole role :
       {VariableRole::Trainable, VariableRole::NonTrainable, VariableRole::Optimizer})
    for (VariableOp variable : module->getOps<VariableOp>()) {
      if (variable.getRole() != role)
        continue;
      auto type = cast<RankedTensorType>(variable.getType());
      std::string name = variable.getSymName().str();
      state.variables.push_back(
          {name, *runtimeDtypeOf(type.getElementType()), type.getShape().vec()});
      if (role == VariableRole::Optimizer &&
          (!state.layout.scalesLoss || isListedWhenScaled(variable)))
        state.layout.optimizer.push_back(name);
    }
  for (LossScaleOp scale : module->getOps<LossScaleOp>()) {
    state.initialScale = scale.getInitial().convertToDouble();
    state.isFixedScale = !scale.getGrowthSteps();
    state.growthSteps = scale.getGrowthSteps().value_or(0);
  }
  state.values = std::move(weights);
  state.config = std::move(imported->config);
  state.configText = std::move(imported->configText);
  state.metadata = std::move(imported->metadata);
  state.vocabularies = std::move(imported->vocabularies);
  state.optimizer = std::move(compileConfig.optimizer);
  state.loss = std::move(compileConfig.loss);
  state.metrics = std::move(compileConfig.metrics);
  return kExitDone;
}

/// Another optimizer's variables would pass for its own where there are as many of the same shapes.
ExitCode Compilation::takeOptimizerState() {
  const llvm::json::Value *stored = imported ? imported->compileConfig.get("optimizer") : nullptr;
  if (stored && !options.optimizer.empty() && compileConfig.isComplete() &&
      !isSameOptimizer(*stored, compileConfig.optimizer)) {
    if (hasStepped(optimizerVariables))
      diagnostics.warning(options.model + ": its optimizer's state is not that of --optimizer=" +
                          options.optimizer + ", which starts anew");
    optimizerVariables.clear();
    return kExitDone;
  }
  std::string warning = addOptimizerState(
      *module, imported ? imported->trainingRules.optimizers : OptimizerFamily::Keras3,
      legacyOptimizerNames, std::move(optimizerVariables), weights);
  if (!warning.empty())
    diagnostics.warning(options.model + ": " + warning);
  std::string problem = findScaleOutOfBounds(*module, weights);
  if (problem.empty())
    return kExitDone;
  diagnostics.error(options.model + ": " + problem);
  return kExitBadInput;
}

ExitCode mpc::loadModelState(const CompileOptions &options, const llvm::MemoryBuffer *weights,
                             ModelState &state) {
  return Compilation(options).collectState(weights, state);
}
