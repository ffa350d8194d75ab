// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/execution/context_use.h"
#include "runtime/base/status.h"

#include <cstdlib>
#include <cstring>

namespace mpc::rt {

bool checksAreOn() noexcept {
  static const bool on = [] {
    const char *value = std::getenv("MPC_RT_CHECKS");
    return value && std::strcmp(value, "1") == 0;
  }();
  return on;
}

ContextUse::ContextUse(ContextUser *of, const char *what) noexcept {
  if (!of || !checksAreOn())
    return;
  thread_local const char mark = 0; // its address tells threads apart
  const void *before = nullptr;
  if (!of->thread.compare_exchange_strong(before, &mark, std::memory_order_acquire) &&
      before != &mark) {
    problem =
        fail(MPC_RT_FAILED_PRECONDITION,
             "%s: another thread is inside of a call with this context; expected one thread at "
             "a time; make a context for each thread, they share the model's weights",
             what);
    return;
  }
  user = of;
  ++user->calls;
}

ContextUse::~ContextUse() {
  if (user && --user->calls == 0)
    user->thread.store(nullptr, std::memory_order_release);
}

} // namespace mpc::rt
