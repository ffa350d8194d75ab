// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The thread's last message lives in a fixed thread-local buffer: reporting "out of memory" must
// not allocate.
#include "runtime/base/status.h"
#include "runtime/base/out_of_memory.h"
#include "runtime/untrusted/outlets.h"

#include <cstdarg>
#include <cstdio>
#include <exception>

namespace mpc::rt {

static thread_local char lastError[2048];
static thread_local unsigned long failures = 0;

unsigned long failureCount() noexcept { return failures; }

mpc_rt_status_t fail(mpc_rt_status_code_t code, const char *format, ...) noexcept {
  // Formatted apart first: an argument may point into the old message.
  char message[sizeof(lastError)];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(message, sizeof(message), format, arguments);
  va_end(arguments);
  ++failures;
  untrusted::copyShown(message, /*isOneLine=*/true, lastError, sizeof(lastError));
  return code;
}

mpc_rt_status_t failWithLines(mpc_rt_status_code_t code, const char *lines) noexcept {
  ++failures;
  untrusted::copyShown(lines, /*isOneLine=*/false, lastError, sizeof(lastError));
  return code;
}

mpc_rt_status_t failOutOfMemory(const char *what, unsigned long long bytes,
                                const char *advice) noexcept {
  return fail(MPC_RT_RESOURCE_EXHAUSTED, "%s: out of memory; %llu bytes were wanted; %s", what,
              bytes, advice);
}

mpc_rt_status_t failToAllocate(const char *what, unsigned long long bytes, const char *problem,
                               const char *advice) noexcept {
  return problem ? fail(MPC_RT_INVALID_ARGUMENT, "%s: %s", what, problem)
                 : failOutOfMemory(what, bytes, advice);
}

mpc_rt_status_t failWithCurrentException(const char *what) noexcept {
  try {
    throw;
  } catch (const std::bad_alloc &problem) {
    const char *bytes = wantedBytes(problem);
    return fail(MPC_RT_RESOURCE_EXHAUSTED, "%s: out of memory; %s were wanted; free some", what,
                bytes ? bytes : "some bytes");
  } catch (const Exhausted &error) {
    return fail(MPC_RT_RESOURCE_EXHAUSTED, "%s: %s", what, error.what());
  } catch (const Unavailable &error) {
    return fail(MPC_RT_UNAVAILABLE, "%s: %s", what, error.what());
  } catch (const std::exception &error) {
    return fail(MPC_RT_INTERNAL, "%s: %s; this is a defect of the runtime, please report it", what,
                error.what());
  } catch (...) {
    return fail(MPC_RT_INTERNAL, "%s: unknown exception; this is a defect of the runtime", what);
  }
}

} // namespace mpc::rt

extern "C" const char *mpc_rt_last_error(void) { return mpc::rt::lastError; }
