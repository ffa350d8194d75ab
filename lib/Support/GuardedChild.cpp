// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Forking, limits and the stream between the two processes.
#include "mpc/Support/GuardedChild.h"
#include "lib/Support/SystemCallFilter.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace mpc;

using Clock = std::chrono::steady_clock;

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define MPC_SHADOW_MEMORY 1
#endif
#endif

static void limitResource(int resource, uint64_t value) {
  const rlimit limit = {rlim_t(value), rlim_t(value)};
  setrlimit(__rlimit_resource(resource), &limit);
}

#ifndef MPC_SHADOW_MEMORY
/// Address space that the process has now, from /proc/self/statm.
static uint64_t addressSpaceInUse() {
  char text[64] = {};
  const int file = ::open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return 0;
  const ssize_t got = ::read(file, text, sizeof(text) - 1);
  ::close(file);
  return got > 0 ? strtoull(text, nullptr, 10) * uint64_t(sysconf(_SC_PAGESIZE)) : 0;
}
#endif

/// The child's pipe, the only descriptor that it keeps.
static constexpr int kPipe = 0;

static void confine(int pipe, const ChildLimits &limits) {
  // The parent's handlers clean up what is the parent's.
  for (int signal : {SIGINT, SIGTERM, SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGTRAP})
    ::signal(signal, SIG_DFL);
  limitResource(RLIMIT_CORE, 0);
  limitResource(RLIMIT_FSIZE, 0);
  limitResource(RLIMIT_CPU, limits.processorSeconds);
#ifndef MPC_SHADOW_MEMORY // which needs terabytes of address space
  limitResource(RLIMIT_AS, addressSpaceInUse() + limits.memory);
#endif
  dup2(pipe, kPipe);
  syscall(SYS_close_range, unsigned(kPipe) + 1, ~0u, 0u);
  limitResource(RLIMIT_NOFILE, 1);
  filterSystemCalls();
}

bool GuardedChild::start(const ChildLimits &limits, llvm::function_ref<bool(int)> work) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return false;
  // Fewer turns of the two processes; where the system does not allow it, the usual 64 KiB do.
  (void)::fcntl(ends[1], F_SETPIPE_SZ, 1 << 20);
  deadline = Clock::now() + std::chrono::seconds(limits.wallSeconds);
  child = ::fork();
  if (child == 0) {
    confine(ends[1], limits);
    ::_exit(work(kPipe) ? 0 : 1);
  }
  ::close(ends[1]);
  pipe = ends[0];
  return child > 0;
}

bool GuardedChild::read(void *data, uint64_t bytes) {
  char *next = static_cast<char *>(data);
  while (bytes) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0)
      return false;
    pollfd waiting = {pipe, POLLIN, 0};
    const int ready = ::poll(&waiting, 1, int(std::min<int64_t>(left, 1000)));
    if (ready < 0 && errno != EINTR)
      return false;
    if (ready <= 0)
      continue;
    const ssize_t got = ::read(pipe, next, std::min<uint64_t>(bytes, uint64_t(1) << 30));
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      return false;
    next += got;
    bytes -= uint64_t(got);
  }
  return true;
}

int GuardedChild::reap() {
  int status = -1;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  child = -1;
  return status;
}

bool GuardedChild::finish() {
  char more = 0;
  // The stream ends with the child: further bytes are as wrong as a deadline that has passed.
  if (child <= 0 || read(&more, 1) || Clock::now() >= deadline)
    return false;
  const int status = reap();
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

GuardedChild::~GuardedChild() {
  if (child > 0) {
    ::kill(child, SIGKILL);
    reap();
  }
  if (pipe >= 0)
    ::close(pipe);
}
