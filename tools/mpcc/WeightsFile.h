// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The weights that travel beside IR text.
#ifndef MPC_TOOLS_MPCC_WEIGHTSFILE_H
#define MPC_TOOLS_MPCC_WEIGHTSFILE_H

#include "mpc/Driver/Compile.h"

namespace mpc {

/// For a model that is IR: reads STEM.safetensors in its folder, if there is one. False after
/// messages on stderr.
bool readWeightsBeside(CompileOptions &options);

} // namespace mpc

#endif // MPC_TOOLS_MPCC_WEIGHTSFILE_H
