// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Exponential moving averages of weights, which end a fit as the weights themselves.
#ifndef MPC_RUNTIME_TRAINING_MOVING_AVERAGE_H
#define MPC_RUNTIME_TRAINING_MOVING_AVERAGE_H

#include "runtime/training/session.h"

namespace mpc::training {

/// Whether finalizeAverages() changes the weights.
bool hasAverages(const Session &session);

/// Keras's Optimizer.finalize_variable_values, which Model.fit calls at its end: with use_ema every
/// trainable variable takes its average. Averages are the optimizer variables that Keras names
/// `<variable path with _ for />_average`; without one for each trainable variable nothing happens.
data::Status finalizeAverages(Session &session);

} // namespace mpc::training
#endif
