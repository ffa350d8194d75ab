// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// fit: the training loop of Keras's Model.fit over a compiled train_step.
#ifndef MPC_RUNTIME_TRAINING_FIT_H
#define MPC_RUNTIME_TRAINING_FIT_H

#include "training/callback.h"
#include "training/optimizer_state.h"
#include "training/shuffle.h"

#include <functional>

namespace mpc::training {

class Trace;

/// Where training stands. Together with the variables it is all that a checkpoint needs.
struct FitState {
  int64_t epoch = 0;         // epochs that are finished
  int64_t step = 0;          // steps done in the epoch that runs
  int64_t globalStep = 0;    // steps done since the beginning
  int64_t skipped = 0;       // steps whose update loss scaling skipped
  std::vector<Logs> history; // one per finished epoch
  std::string stopReason;    // why a callback ended training; "" = it did not
  bool isSpoiled = false;    // the last step ended training: no checkpoint is made of it
};

/// Watches for a display. Pointers are valid during the call.
class FitObserver {
public:
  virtual ~FitObserver() = default;
  virtual void epochBegin(const FitState &, int64_t stepsPerEpoch, int64_t epochs) {}
  virtual void stepEnd(const FitState &, const StepResult &) {}
  virtual void epochEnd(const FitState &, const Logs &) {}
};

struct FitOptions {
  int64_t epochs = 1, batchSize = 32;
  int64_t steps = 0; // > 0: exactly so many steps, rows going around, as one epoch
  int64_t stepsPerEpoch(int64_t rows) const {
    return steps ? steps : (rows + batchSize - 1) / batchSize;
  }
  Shuffle shuffle = Shuffle::EachPass;
  uint64_t seed = 0;
  const data::Dataset *validation = nullptr;
  std::vector<Callback *> callbacks;
  FitObserver *observer = nullptr;
  Trace *trace = nullptr; // null = no per-step record
  /// Writes a checkpoint; empty = none. Called every `saveEvery` steps (after each epoch if
  /// 0), at the end, and before leaving on an interruption.
  std::function<data::Status(const FitState &)> saveCheckpoint;
  int64_t saveEvery = 0;
  /// Asked after each step: whether to save and leave. Ranks of a job agree on it.
  std::function<bool()> interrupted;
};

/// Trains from `state` on, which is kept up to date. Returns whether it was interrupted (true) or
/// came to its end (false). Semantics of Keras: the last batch of an epoch may be smaller; an
/// epoch's logs are the running metrics; validation follows each epoch. A resumed run computes the
/// same bytes as one that was never interrupted.
data::Result<bool> fit(Session &session, const data::Dataset &data, const FitOptions &options,
                       FitState &state);

} // namespace mpc::training
#endif
