// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// CheckpointFolder: the checkpoints of one run, numbered by step, the oldest removed.
#ifndef MPC_RUNTIME_CHECKPOINT_FOLDER_H
#define MPC_RUNTIME_CHECKPOINT_FOLDER_H

#include "checkpoint/checkpoint.h"

namespace mpc::checkpoint {

class CheckpointFolder {
public:
  CheckpointFolder(std::string path, int64_t keep) : path_(std::move(path)), keep_(keep) {}

  /// Makes the folder and removes what killed runs left half written.
  data::Status prepare();
  /// Writes the checkpoint of this step, then removes those beyond the newest `keep`.
  data::Status save(training::Session &session, const RunIdentity &identity,
                    const training::FitState &state, const training::CallbackState &callbacks);
  /// Restores the newest checkpoint that is whole; damaged ones are skipped with a note. Fails when
  /// there is none, or when the newest whole one does not belong to this run.
  data::Status resume(training::Session &session, const RunIdentity &identity,
                      training::FitState &state, training::CallbackState &callbacks,
                      std::vector<std::string> &notes);

private:
  /// Full paths, newest first.
  std::vector<std::string> list() const;
  std::string path_;
  int64_t keep_;
};

} // namespace mpc::checkpoint
#endif
