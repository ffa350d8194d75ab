// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tools' stacks. The compiler's passes recurse, its own and LLVM's; where the system grants a
// small stack (`ulimit -s`), main's work is done on a thread with one of the usual size, as clang
// and gcc do it.
#ifndef MPC_TOOLS_STACK_SIZE_H
#define MPC_TOOLS_STACK_SIZE_H

#include <cstddef>
#include <pthread.h>
#include <sys/resource.h>

namespace mpc {

/// Linux grants this where nobody asks for another limit.
constexpr size_t usualStack = size_t{8} << 20;

/// Threads that libraries start get their size from the same limit, and 2 MiB where there is none.
inline void enlargeStacksOfThreads() {
  pthread_attr_t attributes;
  size_t size = 0;
  if (pthread_getattr_default_np(&attributes) != 0)
    return;
  pthread_attr_getstacksize(&attributes, &size);
  if (size < usualStack && pthread_attr_setstacksize(&attributes, usualStack) == 0)
    pthread_setattr_default_np(&attributes);
  pthread_attr_destroy(&attributes);
}

/// Returns what `work()`, all that main does, returns. To be called before threads are started.
template <typename Work> int runOnUsualStack(const Work &work) {
  enlargeStacksOfThreads();
  rlimit limit;
  if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= usualStack)
    return work();
  struct Call {
    const Work &work;
    int code;
  } call = {work, 0};
  pthread_t thread;
  auto run = [](void *data) -> void * {
    auto &own = *static_cast<Call *>(data);
    own.code = own.work();
    return nullptr;
  };
  if (pthread_create(&thread, nullptr, run, &call) != 0)
    return work(); // as far as the stack reaches
  pthread_join(thread, nullptr);
  return call.code;
}

} // namespace mpc

#endif // MPC_TOOLS_STACK_SIZE_H
