// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The optimizer variables that training looks at.
#ifndef MPC_RUNTIME_TRAINING_OPTIMIZER_STATE_H
#define MPC_RUNTIME_TRAINING_OPTIMIZER_STATE_H

#include "runtime/module/optimizer_scalar.h"
#include "runtime/training/session.h"

namespace mpc::training {

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
  int64_t find(rt::OptimizerScalar wanted) const;
  std::optional<float> real(int64_t index) const;
  std::optional<int64_t> integer(int64_t index) const;
  Session &session_;
  int64_t learningRate_, dynamicScale_, stepCounter_, iteration_; ///< -1 where there is none
};

} // namespace mpc::training
#endif
