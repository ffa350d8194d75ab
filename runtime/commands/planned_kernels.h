// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which kernels would compute a model's products, convolutions and attention here: for inspect.
#ifndef MPC_RUNTIME_COMMANDS_PLANNED_KERNELS_H
#define MPC_RUNTIME_COMMANDS_PLANNED_KERNELS_H

#include "training/session.h"

#include <string>
#include <vector>

namespace mpc::commands {

struct PlannedKernelsOptions {
  std::string resume; ///< a folder of checkpoints whose choices are taken over; "" = rules choose
  training::TuningOptions tuning; ///< or those of a file
  int64_t batchSize = 0;          ///< 0 = the model's own, else the checkpoint's, else 32
  uint32_t threads = 0;           ///< 0 = all
};

struct PlannedKernels {
  std::string entry; ///< "predict" or "train_step"
  int64_t batchSize = 0;
  std::vector<std::string> lines; ///< as mpc_rt_context_used_kernels() has them
};

/// Of the model that `tables` was opened for, of each of the two entries that the model has.
/// Nothing is computed and no weights are read. `notes`: damaged checkpoints that were passed over,
/// and which one was taken.
data::Result<std::vector<PlannedKernels>> planKernels(const training::Session &tables,
                                                      const PlannedKernelsOptions &options,
                                                      std::vector<std::string> &notes);

} // namespace mpc::commands
#endif
