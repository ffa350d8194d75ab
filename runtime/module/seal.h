// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether a library is as mpcc wrote it, before the system's loader maps it.
#ifndef MPC_RUNTIME_MODULE_SEAL_H
#define MPC_RUNTIME_MODULE_SEAL_H

#include "mpc-rt/status.h"

namespace mpc::rt {

// DATA_LOSS: the library's bytes contradict its seal; or it has none and ends before its ELF
// headers say. A library without a seal (of an older mpcc, stripped) is not checked further.
mpc_rt_status_t checkSeal(const char *path) noexcept;

// The same of an open file; `place` is for messages.
mpc_rt_status_t checkSeal(int file, const char *place) noexcept;

} // namespace mpc::rt

#endif
