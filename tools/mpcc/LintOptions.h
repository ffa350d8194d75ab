// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// --lint of mpcc, and its page.
#ifndef MPC_TOOLS_MPCC_LINTOPTIONS_H
#define MPC_TOOLS_MPCC_LINTOPTIONS_H

#include "mpc/Driver/Compile.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/Twine.h"

namespace mpc {

/// `lint` is what --lint says, none where it is not given: "error,-float-ids", the names of rules
/// with a minus sign, in any order. `page` is what --html says.
LintChoice readLint(const std::optional<std::string> &lint, const std::string &page,
                    llvm::function_ref<void(const llvm::Twine &)> report);

} // namespace mpc

#endif // MPC_TOOLS_MPCC_LINTOPTIONS_H
