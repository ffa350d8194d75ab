// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The optimizer variables that training looks at, found by Keras's names.
#ifndef MPC_RUNTIME_TRAINING_OPTIMIZER_STATE_H
#define MPC_RUNTIME_TRAINING_OPTIMIZER_STATE_H

#include "training/session.h"

namespace mpc::training {

/// Names may carry the optimizer's own ("adam/learning_rate") or not ("learning_rate"). Under a
/// LossScaleOptimizer the outer iteration and learning_rate are unused (Keras: the properties
/// delegate to the inner optimizer), so the last variable of each name is the one that counts.
class OptimizerState {
public:
  explicit OptimizerState(Session &session);

  std::optional<float> learningRate() const { return real(learningRate_); }
  std::optional<float> dynamicScale() const { return real(dynamicScale_); }
  std::optional<int64_t> stepCounter() const { return integer(stepCounter_); }
  std::optional<int64_t> iterations() const { return integer(iteration_); }
  bool hasLossScale() const { return dynamicScale_ >= 0; }
  /// False when the rate comes from a schedule: there is no variable to set.
  bool setLearningRate(float rate);

private:
  std::optional<float> real(int64_t index) const;
  std::optional<int64_t> integer(int64_t index) const;
  Session &session_;
  int64_t learningRate_ = -1, dynamicScale_ = -1, stepCounter_ = -1, iteration_ = -1;
};

} // namespace mpc::training
#endif
