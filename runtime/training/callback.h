// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Callback: what wants to know about the progress of training, and may end it.
#ifndef MPC_RUNTIME_TRAINING_CALLBACK_H
#define MPC_RUNTIME_TRAINING_CALLBACK_H

#include "runtime/training/metrics.h"

namespace mpc::training {

/// The results of one optimizer step.
struct StepResult {
  int64_t globalStep; // from 0
  int64_t rows;
  float loss;                                    // of this batch, unscaled
  bool finite;                                   // false: loss scaling skipped the update
  const std::vector<int64_t> *indices = nullptr; // of the rows in the data
};

/// The state of callbacks that survives in a checkpoint.
struct CallbackState {
  std::map<std::string, std::string> texts; ///< by CALLBACK.NAME
  /// Copies of all model variables, by CALLBACK/VARIABLE. Whoever reads a file has compared their
  /// names, dtypes and shapes with the model's.
  data::NamedArrays arrays;
};

class Callback {
public:
  virtual ~Callback() = default;
  /// Before the first step: `logs` has the names that those of an epoch will have. May add to them.
  virtual data::Status begin(Logs &logs) { return data::Status(); }
  /// Before a step (from 0) on these rows of the data. Changes no variable.
  virtual data::Status stepBegin(int64_t step, const std::vector<int64_t> &rows) {
    return data::Status();
  }
  /// The entry that does this step in place of `train_step`, with the same results; null: that one.
  virtual const mpc_rt_entry_info_t *stepEntry(int64_t step) { return nullptr; }
  /// After a step, before stepEnd() of any callback.
  virtual data::Status stepRan(int64_t step, const std::vector<int64_t> &rows) {
    return data::Status();
  }
  /// A reason to stop training after this step, or "". Such a step has spoiled the model: no
  /// checkpoint is made of it.
  virtual std::string stepEnd(const StepResult &) { return ""; }
  /// May add to the logs. `stop` receives a reason to end training.
  virtual data::Status epochEnd(int64_t epoch, Logs &logs, std::string &stop) {
    return data::Status();
  }
  /// After the logs of an epoch joined the history.
  virtual data::Status historyChanged(const std::vector<Logs> &history) { return data::Status(); }
  /// After the last epoch, not after an interrupted one.
  virtual data::Status trainEnd() { return data::Status(); }
  /// After the last step of a training that is interrupted, in place of trainEnd().
  virtual data::Status interrupted() { return data::Status(); }
  virtual void save(CallbackState &) const {}
  virtual void restore(const CallbackState &) {}
};

/// Asks each of them for its trainEnd() or interrupted(), up to the first one that fails.
inline data::Status askAll(const std::vector<std::unique_ptr<Callback>> &callbacks,
                           data::Status (Callback::*what)()) {
  for (const auto &callback : callbacks)
    if (data::Status status = (callback.get()->*what)(); !status)
      return status;
  return data::Status();
}

} // namespace mpc::training
#endif
