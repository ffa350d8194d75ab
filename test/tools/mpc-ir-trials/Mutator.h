// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Changes IR text a little: what comes out is often IR that no pass of mpc would write.
#ifndef MPC_TEST_TOOLS_MPC_IR_TRIALS_MUTATOR_H
#define MPC_TEST_TOOLS_MPC_IR_TRIALS_MUTATOR_H

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <string>

namespace mpc {

/// The same mutant for the same number, on every machine.
std::string mutate(llvm::StringRef text, uint64_t number);

} // namespace mpc

#endif // MPC_TEST_TOOLS_MPC_IR_TRIALS_MUTATOR_H
