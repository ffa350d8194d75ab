// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A context is used by one thread at a time. With MPC_RT_CHECKS=1 in the environment a second
// thread that comes meanwhile gets a status; else nothing is looked at, and what happens is
// undefined.
#ifndef MPC_RUNTIME_EXECUTION_CONTEXT_USE_H
#define MPC_RUNTIME_EXECUTION_CONTEXT_USE_H

#include "mpc-rt/status.h"

#include <atomic>

namespace mpc::rt {

// Whether the environment asks for checks that cost time (read once).
bool checksAreOn() noexcept;

// Who is inside of a context: nobody, or one thread any number of times.
struct ContextUser {
  std::atomic<const void *> thread{nullptr};
  unsigned calls = 0; // that thread's alone
};

class ContextUse {
public:
  // `what` is the call, for the message. A null `user` is nobody's.
  ContextUse(ContextUser *user, const char *what) noexcept;
  ~ContextUse();
  ContextUse(const ContextUse &) = delete;
  ContextUse &operator=(const ContextUse &) = delete;

  mpc_rt_status_t status() const noexcept { return problem; }

private:
  ContextUser *user = nullptr; // where this thread is inside
  mpc_rt_status_t problem = MPC_RT_OK;
};

} // namespace mpc::rt

#endif
