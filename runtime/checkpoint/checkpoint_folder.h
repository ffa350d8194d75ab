// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// CheckpointFolder: the checkpoints of one run, numbered by step, the oldest removed.
#ifndef MPC_RUNTIME_CHECKPOINT_FOLDER_H
#define MPC_RUNTIME_CHECKPOINT_FOLDER_H

#include "runtime/checkpoint/checkpoint.h"

namespace mpc::checkpoint {

class CheckpointFolder {
public:
  CheckpointFolder(std::string path, int64_t keep) : path_(std::move(path)), keep_(keep) {}
  ~CheckpointFolder();
  CheckpointFolder(const CheckpointFolder &) = delete;
  CheckpointFolder &operator=(const CheckpointFolder &) = delete;

  /// Makes the folder, takes it for this run until it ends, and removes what killed runs left half
  /// written.
  data::Status prepare();
  /// Checkpoints of more than `step` steps belong to another run (-1: all do): the next checkpoint
  /// replaces them, so that nobody resumes them for one of this run. Returns how many there are.
  size_t supersede(int64_t step);
  /// Writes the checkpoint of this step, then removes those beyond the newest `keep`.
  data::Status save(training::Session &session, const RunIdentity &identity,
                    const training::FitState &state, const training::CallbackState &callbacks);
  /// Restores the newest checkpoint that is whole; damaged ones are skipped with a note. Fails when
  /// there is none, or when the newest whole one does not belong to this run.
  data::Status resume(training::Session &session, const RunIdentity &identity,
                      training::FitState &state, training::CallbackState &callbacks,
                      std::vector<std::string> &notes);
  /// The record of the newest checkpoint that is whole, as resume() finds it.
  data::Result<KernelRecord> readKernels(const training::Session &session,
                                         std::vector<std::string> &notes) const;

private:
  /// A note for each damaged one that is newer.
  data::Result<std::string> findNewest(std::vector<std::string> &notes) const;
  /// Full paths, newest first.
  std::vector<std::string> list() const;
  std::string path_;
  int64_t keep_;
  int lock_ = -1; // the folder, opened
  std::vector<std::string> superseded_;
};

} // namespace mpc::checkpoint
#endif
