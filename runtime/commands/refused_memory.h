// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How much memory the request wanted that was refused: std::bad_alloc does not say.
#ifndef MPC_RUNTIME_COMMANDS_REFUSED_MEMORY_H
#define MPC_RUNTIME_COMMANDS_REFUSED_MEMORY_H

#include <cstdint>

namespace mpc::commands {

/// Bytes of this thread's last request that operator new refused; 0: none, or not known.
uint64_t lastRefusedBytes();

} // namespace mpc::commands
#endif
