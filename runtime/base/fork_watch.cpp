// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/base/fork_watch.h"

#include <atomic>
#include <mutex>
#include <new>
#include <pthread.h>

namespace mpc::rt {
namespace {

std::atomic<unsigned> forks{0};
thread_local bool isForkedThread = false;
// Readers are what must not be interrupted, the writer is a fork. Never destroyed: threads may
// still run at exit.
pthread_rwlock_t barrier = PTHREAD_RWLOCK_INITIALIZER;
thread_local unsigned barriersHeld = 0;

void beforeFork() {
  if (!barriersHeld) // else this very thread forks inside, and has to get through
    pthread_rwlock_wrlock(&barrier);
}
void afterForkInParent() {
  if (!barriersHeld)
    pthread_rwlock_unlock(&barrier);
}
void afterForkInChild() {
  new (&barrier) pthread_rwlock_t(PTHREAD_RWLOCK_INITIALIZER);
  barriersHeld = 0;
  forks++;
  isForkedThread = true;
}

} // namespace

void watchForks() noexcept {
  static std::once_flag once;
  std::call_once(once, [] { pthread_atfork(beforeFork, afterForkInParent, afterForkInChild); });
}

unsigned forksSeen() noexcept { return forks; }
bool cameOutOfFork() noexcept { return isForkedThread; }

ForkBarrier::ForkBarrier() noexcept {
  if (barriersHeld++ == 0)
    pthread_rwlock_rdlock(&barrier);
}
ForkBarrier::~ForkBarrier() {
  if (barriersHeld && --barriersHeld == 0)
    pthread_rwlock_unlock(&barrier);
}

} // namespace mpc::rt
