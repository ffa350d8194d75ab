// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mpc/Driver/ProveModel.h"
#include "lib/Driver/Compilation.h"

using namespace mlir;
using namespace mpc;

ExitCode mpc::proveModel(const CompileOptions &options, const InputRanges &inputs,
                         std::vector<LayerProof> &proofs) {
  CompileOptions toCasts = options;
  toCasts.compileTo = Phase::Casts;
  Compilation compilation(toCasts);
  if (ExitCode code = compilation.load(); code != kExitDone)
    return code;
  if (ExitCode code = compilation.runPhases(); code != kExitDone)
    return code;
  auto forward = compilation.module->lookupSymbol<func::FuncOp>("forward");
  if (!forward || !llvm::hasSingleElement(forward.getBody())) {
    compilation.diagnostics.error(options.model + ": has no @forward whose ranges could be proved");
    return kExitBadInput;
  }
  RangeFacts facts;
  facts.weights = &compilation.weights;
  facts.inputs = selectInputs(forward, inputs);
  proofs = proveLayers(RangeAnalysis(forward, facts));
  return kExitDone;
}
