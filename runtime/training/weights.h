// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Variables to and from safetensors files, by Keras's names.
#ifndef MPC_RUNTIME_TRAINING_WEIGHTS_H
#define MPC_RUNTIME_TRAINING_WEIGHTS_H

#include "runtime/data/safetensors.h"
#include "runtime/training/initial_weights.h"
#include "runtime/training/session.h"

namespace mpc::training {

struct WeightsReport {
  std::vector<std::string> notes;
};

/// Copies every tensor of `file` into the variable of its name, converted with one rounding
/// (floats) or exactly (integers). Fails for unknown model variables, wrong shapes or types, and,
/// when `complete`, for model variables without a tensor (else they are noted); all faults are
/// reported together and nothing is changed then. Optimizer tensors that this model does not have
/// are ignored with a note. The caller runs mpc_rt_context_variables_changed.
data::Status loadVariables(Session &session, const std::string &file, bool complete,
                           WeightsReport &report);

/// A note when some model variables are not among the weights; reads their header alone.
void noteMissingVariables(const Session &session, const InitialWeights &weights,
                          WeightsReport &report);

/// All model and optimizer variables, in their own types.
data::Safetensors collectVariables(Session &session);

/// collectVariables written atomically.
data::Status saveVariables(Session &session, const std::string &file);

} // namespace mpc::training
#endif
