// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Questions of the search for policies about a model file, which it answers without compiling it.
#ifndef MPC_DRIVER_DESCRIBELAYERS_H
#define MPC_DRIVER_DESCRIBELAYERS_H

#include "mpc/Driver/Compile.h"
#include "mpc/Numerics/Ranges/Ranges.h"
#include "mpc/Numerics/Search/LayerWork.h"

namespace mpc {

struct ModelLayers {
  std::vector<LayerWork> layers;
  bool trains = false;     ///< with these options it gets a training step
  bool hasWeights = false; ///< the file's, no initializer's
  std::string name;        ///< base of the names of outputs
};

/// The layers of the model before policies change anything. An open batch counts as 32 samples.
ExitCode describeLayers(const CompileOptions &options, ModelLayers &model);

/// Proves ranges of the layers' values in predictions under the policies of `options`, for inputs
/// that lie in `inputs` (by name, or x0, x1, … by place) and the file's weights.
ExitCode proveModel(const CompileOptions &options, const InputRanges &inputs,
                    std::vector<LayerProof> &proofs);

} // namespace mpc

#endif // MPC_DRIVER_DESCRIBELAYERS_H
