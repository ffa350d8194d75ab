// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Weights from safetensors files, by the runtime's data library.
#ifndef MPC_TOOLS_WEIGHTSFILE_H
#define MPC_TOOLS_WEIGHTSFILE_H

#include "mpc/Support/WeightStore.h"
#include "llvm/Support/Error.h"

namespace mpc {

llvm::Expected<WeightStore> readWeightsFile(const std::string &path);

} // namespace mpc

#endif // MPC_TOOLS_WEIGHTSFILE_H
