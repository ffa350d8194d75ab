// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A page about the hazards that `mpcc --lint` told: layers with what was found in each, and a
// table.
#ifndef MPC_LIB_DRIVER_LINTPAGE_H
#define MPC_LIB_DRIVER_LINTPAGE_H

#include "lib/Driver/Diagnostics.h"
#include "lib/Driver/Explain.h"

namespace mpc {

std::string writeLintPage(const std::string &model, std::vector<LayerSummary> layers,
                          llvm::ArrayRef<ToldFinding> findings);

} // namespace mpc

#endif // MPC_LIB_DRIVER_LINTPAGE_H
