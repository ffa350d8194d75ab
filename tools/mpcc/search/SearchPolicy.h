// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mpcc --policy=auto: searches a policy map, and compiles the model with it.
#ifndef MPC_TOOLS_MPCC_SEARCH_SEARCHPOLICY_H
#define MPC_TOOLS_MPCC_SEARCH_SEARCHPOLICY_H

#include "tools/mpcc/Options.h"

namespace mpc {

/// compileModel(), and with --policy=auto a search before it. That adds the files NAME.policy.json,
/// NAME.search.json and NAME.search.html. Nothing is written where it fails.
ExitCode compileOrSearch(const CommandOptions &options);

} // namespace mpc

#endif // MPC_TOOLS_MPCC_SEARCH_SEARCHPOLICY_H
