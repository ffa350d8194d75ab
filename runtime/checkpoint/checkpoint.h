// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Checkpoints: everything that training needs to go on as if it had never stopped, in one file.
#ifndef MPC_RUNTIME_CHECKPOINT_CHECKPOINT_H
#define MPC_RUNTIME_CHECKPOINT_CHECKPOINT_H

#include "runtime/training/fit.h"

namespace mpc::checkpoint {

/// These must be the same for a resumed run to compute the same bytes.
struct RunIdentity {
  int64_t batchSize = 0, rows = 0, steps = 0;
  std::string shuffle = "each-pass"; ///< training::shuffleName
  uint64_t seed = 0;
  /// Kernels are measured anew; a checkpoint's choices are not taken over.
  bool tune = false;
};

/// Writes a safetensors file: variables under `model/`, `optimizer/`, `metric/` and `random/`, and
/// in its metadata position, history, callbacks, choices of kernels if any were measured, and a
/// CRC-32C of the whole file (computed with the checksum's own digits as zeros). Atomic.
data::Status writeCheckpoint(const std::string &path, training::Session &session,
                             const RunIdentity &identity, const training::FitState &state,
                             const training::CallbackState &callbacks);

/// Restores variables, position and callbacks. Refuses a damaged file (checksum), another model
/// (name, source hash, policies, variables), and another run identity, naming the option that
/// differs. On failure nothing is changed. `notes` is told of a learning rate that the model was
/// compiled with since.
data::Status readCheckpoint(const std::string &path, training::Session &session,
                            const RunIdentity &identity, training::FitState &state,
                            training::CallbackState &callbacks, std::vector<std::string> &notes);

/// The kernels that a run has measured, or taken over from a run that had.
struct KernelRecord {
  int64_t batchSize = 0;
  std::string kernels; ///< mpc_rt_context_kernel_choices(); "" where rules chose
};

/// Refuses a damaged file and another model's, as readCheckpoint() does.
data::Result<KernelRecord> readKernels(const std::string &path, const training::Session &session);

/// Whether the file is whole: its checksum.
data::Status verifyCheckpoint(const std::string &path);

} // namespace mpc::checkpoint
#endif
