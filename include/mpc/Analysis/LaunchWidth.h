// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How much of a GPU a launch fills, as far as that is known before it runs.
#ifndef MPC_ANALYSIS_LAUNCHWIDTH_H
#define MPC_ANALYSIS_LAUNCHWIDTH_H

#include "dialects/mpcrt/IR/Mpcrt.h"

namespace mpc {

enum class LaunchWidth {
  narrow,            ///< never all of it: it shares a kernel with others
  wideForLargeBatch, ///< all of it with a large batch: the runtime decides
  wide,              ///< all of it with any batch: it runs by itself
};

/// `lanes`: the threads that an iteration of the kernel takes.
LaunchWidth launchWidthOf(mpcrt::LaunchOp launch, unsigned lanes = 1);

} // namespace mpc

#endif // MPC_ANALYSIS_LAUNCHWIDTH_H
