// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_TOOLS_MPC_CONVERT_CONVERT_H
#define MPC_TOOLS_MPC_CONVERT_CONVERT_H

#include "tools/mpc-convert/Options.h"

namespace mpc {

/// Reads IN, fits its values to the model and writes OUT. Prints messages. Nothing is written
/// unless everything succeeds.
ExitCode convertState(const ConvertOptions &options);

} // namespace mpc

#endif // MPC_TOOLS_MPC_CONVERT_CONVERT_H
