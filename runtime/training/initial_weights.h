// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// InitialWeights: where the weights are that mpcc wrote of a model.
#ifndef MPC_RUNTIME_TRAINING_INITIAL_WEIGHTS_H
#define MPC_RUNTIME_TRAINING_INITIAL_WEIGHTS_H

#include "runtime/data/safetensors.h"

#include <string>

namespace mpc::training {

struct InitialWeights {
  std::string place;        // NAME.safetensors beside the library, or ARCHIVE:NAME.safetensors
  bool isInArchive = false; // then libmpcrt alone looks for them
};

/// `library` is a library or an archive that libmpcrt has opened; there need be no weights.
InitialWeights findInitialWeights(const std::string &library, const std::string &model);

/// The weights as views of a mapping.
data::Result<data::Safetensors> viewInitialWeights(const std::string &library,
                                                   const InitialWeights &weights);

} // namespace mpc::training
#endif
