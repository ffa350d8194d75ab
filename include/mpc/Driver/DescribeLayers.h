// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The layers of a model file, for the search for policies, without compiling it.
#ifndef MPC_DRIVER_DESCRIBELAYERS_H
#define MPC_DRIVER_DESCRIBELAYERS_H

#include "mpc/Driver/Compile.h"
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

} // namespace mpc

#endif // MPC_DRIVER_DESCRIBELAYERS_H
