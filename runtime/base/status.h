// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Errors inside the runtime: a code, and a message kept per thread for mpc_rt_last_error().
#ifndef MPC_RUNTIME_BASE_STATUS_H
#define MPC_RUNTIME_BASE_STATUS_H

#include "mpc-rt/status.h"

#include <stdexcept>

namespace mpc::rt {

// MPC_RT_UNAVAILABLE, thrown: something is missing on this machine, and the text says what to do.
struct Unavailable : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// MPC_RT_RESOURCE_EXHAUSTED, thrown: the text says what is missing, and what to do.
struct Exhausted : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Sets the thread's message and returns `code`, so that callers can write `return fail(...)`.
// Never throws: a message that cannot be allocated is cut to a fixed buffer. Callers print it: what
// a name of the model puts into it is shown (untrusted/outlets.h), in one line.
mpc_rt_status_t fail(mpc_rt_status_code_t code, const char *format, ...) noexcept
    __attribute__((format(printf, 2, 3)));

// The same for several messages, a line each.
mpc_rt_status_t failWithLines(mpc_rt_status_code_t code, const char *lines) noexcept;

// Runs `body` (returning a status) at the C boundary: no exception gets out.
template <typename Body> mpc_rt_status_t guard(const char *what, Body body) noexcept;

// How often this thread has failed: tells whether a failing callee left a message.
unsigned long failureCount() noexcept;

// The advice where memory is missing that grows with the batch, and where it is that of variables.
inline constexpr char smallerBatch[] = "use a smaller batch or a smaller model";
inline constexpr char smallerModel[] =
    "free some or use a smaller model; the batch does not matter";
mpc_rt_status_t failOutOfMemory(const char *what, unsigned long long bytes,
                                const char *advice = smallerBatch) noexcept;
// The same after a failing Buffer: `problem` is what the buffer says, null for no memory.
mpc_rt_status_t failToAllocate(const char *what, unsigned long long bytes, const char *problem,
                               const char *advice = smallerBatch) noexcept;
mpc_rt_status_t failWithCurrentException(const char *what) noexcept;

template <typename Body> mpc_rt_status_t guard(const char *what, Body body) noexcept {
  try {
    return body();
  } catch (...) {
    return failWithCurrentException(what);
  }
}

} // namespace mpc::rt

#endif
