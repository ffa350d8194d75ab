// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// ChangedWeights: weights that differ from a model's by about what rounding does, for a while.
#ifndef MPC_RUNTIME_REPORTS_CHANGED_WEIGHTS_H
#define MPC_RUNTIME_REPORTS_CHANGED_WEIGHTS_H

#include "runtime/training/session.h"

namespace mpc::reports {

class ChangedWeights {
public:
  explicit ChangedWeights(training::Session &session) : session_(session) {}
  /// Multiplies each float32 weight that is trained by a number within 2^-16 of 1.
  data::Status apply();
  data::Status restore();

private:
  data::Status set(uint32_t variable, const std::vector<float> &values);
  training::Session &session_;
  std::vector<std::pair<uint32_t, std::vector<float>>> old_;
};

} // namespace mpc::reports
#endif
