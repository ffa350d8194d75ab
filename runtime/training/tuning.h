// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which kernels a session takes: by rules, by measuring, or as a file says that mpc-run tune wrote.
#ifndef MPC_RUNTIME_TRAINING_TUNING_H
#define MPC_RUNTIME_TRAINING_TUNING_H

#include "training/session.h"

namespace mpc::training {

/// Writes the choices that were measured for one batch size as JSON, with the model, the kind of
/// CPU, the ISA and the threads that they are of. Atomic.
data::Status writeTuning(const std::string &path, Session &session, int64_t batchSize,
                         const std::string &kernels);

/// Starts measuring, or takes over the choices of options.file, in the context of `session`.
/// Refuses a file of another model, kind of CPU or ISA; `notes` is told of other threads.
data::Status applyTuning(const TuningOptions &options, Session &session,
                         std::vector<std::string> &notes);

/// "onednn for 2, avx2_float32 for 5": how many products each kernel of `choices`
/// (mpc_rt_context_kernel_choices) computes; "" of none.
std::string summarizeChoices(const std::string &choices);

} // namespace mpc::training
#endif
