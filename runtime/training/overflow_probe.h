// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Finds the layer whose forward pass is not finite.
#ifndef MPC_RUNTIME_TRAINING_OVERFLOW_PROBE_H
#define MPC_RUNTIME_TRAINING_OVERFLOW_PROBE_H

#include "runtime/training/session.h"

namespace mpc::training {

/// Predicts rows of the data once more and says which input or layer has the first value that is
/// not finite, as a clause; "" where nothing can be said. Changes no variable.
std::string findOverflow(Session &session, const data::Dataset &data,
                         const std::vector<int64_t> &rows);

} // namespace mpc::training
#endif
