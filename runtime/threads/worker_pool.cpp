// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/threads/worker_pool.h"
#include "runtime/base/floating_environment.h"
#include "runtime/base/fork_watch.h"

#include <algorithm>
#include <csignal>
#include <linux/futex.h>
#include <mutex>
#include <new>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <x86intrin.h>

namespace mpc::rt {
namespace {

// 50 to 100 microseconds at the usual rates of the time stamp counter: as long as waking takes.
constexpr uint64_t awakeCycles = 200000;
constexpr size_t leastStack = size_t{1} << 20;

static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t));

void sleepWhile(std::atomic<uint32_t> &word, uint32_t value) noexcept {
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
}
void wakeAll(std::atomic<uint32_t> &word) noexcept {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT32_MAX, nullptr, nullptr, 0);
}

// Stays awake until `ready()`, at most for a while.
template <typename Ready> bool stayAwakeUntil(const Ready &ready) noexcept {
  const uint64_t begin = __rdtsc();
  do {
    if (ready())
      return true;
    _mm_pause();
  } while (__rdtsc() - begin < awakeCycles);
  return ready();
}

struct FreePools {
  std::mutex mutex;
  WorkerPool *first = nullptr;
};
FreePools &freePools() {
  // The memory is not from the heap, which may be full: a loop could not say so.
  alignas(FreePools) static char storage[sizeof(FreePools)];
  static auto *pools = [] {
    pthread_atfork([] { freePools().mutex.lock(); }, [] { freePools().mutex.unlock(); },
                   [] { freePools().mutex.unlock(); });
    return new (storage) FreePools; // never destroyed: threads may still run at exit
  }();
  return *pools;
}

} // namespace

WorkerPool *WorkerPool::take(unsigned workers) noexcept {
  FreePools &pools = freePools();
  // Threads do not survive a fork; pools of the parent are nobody's in the child.
  const unsigned forks = forksSeen();
  {
    std::lock_guard<std::mutex> lock(pools.mutex);
    for (WorkerPool **link = &pools.first; *link; link = &(*link)->next)
      if ((*link)->workers == workers && (*link)->forks == forks) {
        WorkerPool *found = *link;
        *link = found->next;
        return found;
      }
  }
  auto *pool = new (std::nothrow) WorkerPool(workers);
  if (!pool)
    return nullptr;
  pool->forks = forks;
  if (!pool->start()) {
    delete pool;
    return nullptr;
  }
  return pool;
}

void WorkerPool::give(WorkerPool *pool) noexcept {
  FreePools &pools = freePools();
  std::lock_guard<std::mutex> lock(pools.mutex);
  pool->next = pools.first;
  pools.first = pool;
}

void WorkerPool::endAll() noexcept {
  FreePools &pools = freePools();
  WorkerPool *pool = nullptr;
  {
    std::lock_guard<std::mutex> lock(pools.mutex);
    pool = pools.first;
    pools.first = nullptr;
  }
  while (pool) {
    WorkerPool *following = pool->next;
    if (pool->forks == forksSeen()) // else its threads are another process's
      pool->stop();
    delete pool;
    pool = following;
  }
}

void WorkerPool::stop() noexcept {
  loop.over = true;
  loop.loops++;
  wakeAll(loop.loops);
  for (unsigned i = 0; i < started; ++i)
    pthread_join(threads[i], nullptr);
}

// True if at least one thread runs.
bool WorkerPool::start() noexcept {
  threads.reset(new (std::nothrow) pthread_t[workers]);
  shares.reset(new (std::nothrow) LoopShare[workers + 1]);
  if (!threads || !shares)
    return false;
  // Kernels hold their tiles on the stack, and the default is what `ulimit -s` says.
  pthread_attr_t attributes;
  size_t stack = 0;
  if (pthread_attr_init(&attributes) != 0)
    return false;
  pthread_attr_getstacksize(&attributes, &stack);
  if (stack < leastStack)
    pthread_attr_setstacksize(&attributes, leastStack);
  sigset_t all, before;
  sigfillset(&all); // signals are for the program's own threads
  pthread_sigmask(SIG_SETMASK, &all, &before);
  for (unsigned i = 0; i < workers; ++i)
    if (pthread_create(&threads[started], &attributes, work, this) == 0)
      ++started;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
  return started > 0;
}

void WorkerPool::run(Body body, void *data, int64_t count, int64_t slots) noexcept {
  loop.body = body;
  loop.data = data;
  loop.slots = slots;
  loop.parts = std::max<int64_t>(std::min({slots, count, int64_t{workers} + 1}), 1);
  cutIntoShares(shares.get(), loop.parts, count);
  loop.open = true;
  loop.resting = false;
  loop.loops++;
  if (loop.sleepers)
    wakeAll(loop.loops);
  Turns own(shares.get(), loop.parts, 0);
  body(data, own);
  // Nobody begins from here on; who has begun is waited for.
  loop.open = false;
  auto allLeft = [this] { return parts.active == 0; };
  if (stayAwakeUntil(allLeft))
    return;
  parts.awaited = true;
  while (uint32_t still = parts.active)
    sleepWhile(parts.active, still);
  parts.awaited = false;
}

void WorkerPool::rest() noexcept { loop.resting = true; }

void WorkerPool::takePart(int64_t slot) noexcept {
  // Before `open` is read: either this worker sees that the loop is over, or its caller sees it.
  parts.active++;
  if (loop.open && slot < loop.slots) {
    Turns own(shares.get(), loop.parts, slot);
    loop.body(loop.data, own);
  }
  if (--parts.active == 0 && parts.awaited)
    wakeAll(parts.active);
}

void WorkerPool::waitForLoop(uint32_t seen) noexcept {
  auto begun = [&] { return loop.loops != seen; };
  if (stayAwakeUntil([&] { return begun() || loop.resting; }) && begun())
    return;
  loop.sleepers++;
  while (!begun())
    sleepWhile(loop.loops, seen);
  loop.sleepers--;
}

void *WorkerPool::work(void *pool) {
  _mm_setcsr(computingControlWord);
  auto &own = *static_cast<WorkerPool *>(pool);
  const int64_t slot = ++own.slotsGiven;
  for (uint32_t seen = 0;;) {
    own.waitForLoop(seen);
    seen = own.loop.loops;
    if (own.loop.over)
      return nullptr;
    own.takePart(slot);
  }
}

} // namespace mpc::rt
