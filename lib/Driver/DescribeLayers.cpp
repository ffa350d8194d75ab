// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mpc/Driver/DescribeLayers.h"
#include "lib/Driver/Compilation.h"

using namespace mlir;
using namespace mpc;

/// Samples of a batch whose size is open.
static constexpr int64_t kSamples = 32;

ExitCode mpc::describeLayers(const CompileOptions &options, ModelLayers &model) {
  Compilation compilation(options);
  if (ExitCode code = compilation.load(); code != kExitDone)
    return code;
  if (compilation.first > Phase::Policy) {
    compilation.diagnostics.error(options.model +
                                  ": is IR in which policies are decided; expected a model, or IR "
                                  "of the phase import, for --policy=auto");
    return kExitBadInput;
  }
  model.layers = collectWork(*compilation.module, options.batch.value_or(kSamples));
  model.trains = compilation.module->lookupSymbol("loss") != nullptr;
  model.hasWeights = !compilation.weights.all().empty();
  model.name = compilation.name;
  return kExitDone;
}
