// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// operator new of the tools: where there is no memory, the exception says how much was wanted,
// which the standard library's does not. And what becomes of an exception that nobody catches.
#include "tools/OutOfMemory.h"
#include "runtime/base/out_of_memory.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <execinfo.h>
#include <new>
#include <sys/resource.h>
#include <system_error>
#include <unistd.h>

static const char *currentTask = "out of memory";

void mpc::exitOutOfMemory(const char *wanted) {
  rusage used = {};
  getrusage(RUSAGE_SELF, &used);
  char text[1024];
  const int length = std::snprintf(
      text, sizeof text,
      "error: %.600s; needed %s beyond the %ld MB that it has; give it more memory, or a higher "
      "limit (ulimit -v)\n",
      currentTask, wanted ? wanted : "more", used.ru_maxrss / 1024);
  // Whether or not anybody listens.
  (void)!write(STDERR_FILENO, text, static_cast<size_t>(std::max(length, 0)));
  _exit(1);
}

static void endWithException() {
  if (std::current_exception()) {
    try {
      throw;
    } catch (const std::bad_alloc &problem) {
      mpc::exitOutOfMemory(mpc::rt::wantedBytes(problem));
    } catch (const std::system_error &problem) {
      // std::thread and std::async, where the system grants no thread.
      if (problem.code() == std::errc::resource_unavailable_try_again)
        mpc::exitOutOfMemory("a thread, which the system does not grant (ulimit -u),");
    } catch (...) { // the core has the stack
    }
  }
  std::abort();
}

void mpc::reportOutOfMemory(const char *task) {
  currentTask = task;
  std::set_terminate(endWithException);
  // Exceptions and ends of threads open libgcc_s, for which there may be no memory later.
  void *frame = nullptr;
  backtrace(&frame, 1);
}

/// A field of an object whose pointer is null lies this near to address 0.
static constexpr uintptr_t kNullObject = 65536;

static void endWithoutMemory(int number, siginfo_t *fault, void *) {
  if (errno == ENOMEM && reinterpret_cast<uintptr_t>(fault->si_addr) < kNullObject)
    mpc::exitOutOfMemory(nullptr);
  std::signal(number, SIG_DFL); // it comes again when this returns
  std::raise(number);
}

void mpc::exitWhereMemoryIsNull() {
  struct sigaction action = {};
  action.sa_sigaction = endWithoutMemory;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGSEGV, &action, nullptr);
}

// A sanitizer has its own.
#if !defined(__has_feature)
#define __has_feature(name) 0
#endif
#if !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer)
void *operator new(std::size_t bytes) {
  while (true) {
    if (void *memory = std::malloc(bytes ? bytes : 1))
      return memory;
    const std::new_handler handler = std::get_new_handler();
    if (!handler)
      throw mpc::rt::OutOfMemory(bytes);
    handler();
  }
}
void *operator new[](std::size_t bytes) { return operator new(bytes); }
void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void *memory) noexcept { std::free(memory); }
void operator delete[](void *memory, std::size_t) noexcept { std::free(memory); }
#endif
