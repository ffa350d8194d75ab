// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// BatchRunner: runs the rows of several requests as one batch on one context.
#ifndef MPC_RUNTIME_SERVING_BATCH_RUNNER_H
#define MPC_RUNTIME_SERVING_BATCH_RUNNER_H

#include "runtime/serving/served_model.h"
#include "runtime/training/bounded_outputs.h"

namespace mpc::serving {

/// Used by one thread at a time.
class BatchRunner {
public:
  BatchRunner(const ServedModel &model, std::unique_ptr<training::Session> session)
      : model_(model), session_(std::move(session)),
        bounded_(*session_, session_->executable().entries[model.entry]) {}

  /// The outputs of each of `parts`, whose values bindSource() has checked. A part that has fewer
  /// rows than the batch for which the model was compiled is filled up with its last row.
  data::Result<std::vector<std::vector<data::Array>>>
  run(const std::vector<const data::Dataset *> &parts);
  /// One run on ones, which brings in code and weights. Fails where it changes a variable: a model
  /// with state would answer one client with what another one sent.
  data::Status warmUp();

private:
  data::Status prepare(int64_t rows);
  void gather(const std::vector<const data::Dataset *> &parts, int64_t rows);
  uint64_t hashStates();

  const ServedModel &model_;
  std::unique_ptr<training::Session> session_;
  const training::BoundedOutputs bounded_;
  int64_t capacity_ = 0; // rows that the buffers hold
  std::vector<data::Array> inputs_, outputs_;
};

} // namespace mpc::serving
#endif
