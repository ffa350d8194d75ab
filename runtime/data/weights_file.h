// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Files that variables are taken from: weights, training states (mpc_rt_context_save), checkpoints.
#ifndef MPC_RUNTIME_DATA_WEIGHTS_FILE_H
#define MPC_RUNTIME_DATA_WEIGHTS_FILE_H

#include "runtime/data/safetensors.h"

namespace mpc::data {

/// Checkpoints have a prefix before model variables, the other files have none: takes it away.
void dropCheckpointPrefix(Safetensors &content);

/// Reads any of the three, under the names of weights files. Where the file has a checksum, it is
/// compared.
Result<Safetensors> readWeightsFile(const std::string &path);

} // namespace mpc::data
#endif
