// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Status codes of the runtime as Python exceptions.
#ifndef MPC_PYTHON_ERRORS_H
#define MPC_PYTHON_ERRORS_H

#include "mpc-rt/status.h"

#include <string>

namespace mpc::python {

/// A failing call of the C ABI leaves these behind.
struct RuntimeFailure {
  mpc_rt_status_t status;
  std::string message;
};

/// Throws the thread's last message; to be called by the thread that failed.
inline void check(mpc_rt_status_t status) {
  if (status != MPC_RT_OK)
    throw RuntimeFailure{status, mpc_rt_last_error()};
}

[[noreturn]] inline void refuse(std::string message) {
  throw RuntimeFailure{MPC_RT_INVALID_ARGUMENT, std::move(message)};
}

} // namespace mpc::python
#endif
