// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The description of a model by inspect, as text and as JSON.
#ifndef MPC_RUNTIME_COMMANDS_INSPECT_H
#define MPC_RUNTIME_COMMANDS_INSPECT_H

#include "runtime/commands/planned_kernels.h"

namespace mpc::commands {

/// The tables of the library and its manifest; `withKernels`: and what was planned, which may be
/// nothing.
std::string describeModel(const training::Session &session,
                          const std::vector<PlannedKernels> &planned, bool withKernels,
                          bool asJson);

} // namespace mpc::commands
#endif
