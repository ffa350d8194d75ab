// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The order of a team's threads, which ThreadSanitizer cannot see: they begin after the one that
// forks them and have ended when it goes on. libgomp, which makes it so, is built without the
// sanitizer.
#ifndef MPC_RUNTIME_BASE_THREAD_ORDER_H
#define MPC_RUNTIME_BASE_THREAD_ORDER_H

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define MPC_THREAD_SANITIZER 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define MPC_THREAD_SANITIZER 1
#endif

#ifdef MPC_THREAD_SANITIZER
extern "C" {
void __tsan_acquire(void *address);
void __tsan_release(void *address);
}
#endif

namespace mpc::rt {

// Everything that this thread did so far comes before what other threads do after
// orderAfter(object).
inline void orderBefore([[maybe_unused]] void *object) {
#ifdef MPC_THREAD_SANITIZER
  __tsan_release(object);
#endif
}
inline void orderAfter([[maybe_unused]] void *object) {
#ifdef MPC_THREAD_SANITIZER
  __tsan_acquire(object);
#endif
}

// In what each thread of a fork runs, with the `data` that the forking thread gave to orderBefore
// and, when all have ended, to orderAfter.
struct Forked {
  explicit Forked(void *data) : data(data) { orderAfter(data); }
  ~Forked() { orderBefore(data); }
  void *data;
};

} // namespace mpc::rt

#endif
