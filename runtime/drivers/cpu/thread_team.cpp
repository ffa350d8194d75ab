// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Our own loops run on worker pools, the libraries' on libgomp.
#include "runtime/drivers/cpu/thread_team.h"
#include "runtime/base/floating_environment.h"
#include "runtime/base/fork_watch.h"
#include "runtime/base/thread_order.h"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <mutex>
#include <pthread.h>
#include <unistd.h>

extern "C" {
void GOMP_parallel(void (*body)(void *), void *data, unsigned threads, unsigned flags);
int omp_get_thread_num(void);
int omp_get_num_threads(void);
int omp_get_max_threads(void);
void omp_set_num_threads(int threads);
int omp_in_parallel(void);
int omp_get_num_procs(void);
}

namespace mpc::rt {
namespace {

// Runs body(data), which begins with Forked, once in each of `threads` threads, the calling one
// among them, and waits.
void forkTeam(void (*body)(void *), void *data, unsigned threads) {
  orderBefore(data);
  GOMP_parallel(body, data, threads, 0);
  orderAfter(data);
}

struct Loop {
  mpc_rt_kernel_fn kernel;
  void *const *arguments;
  int64_t count, chunks;

  void run(int64_t chunk) const {
    // 128-bit: count * chunk may pass 2^63.
    auto edge = [&](int64_t c) {
      return static_cast<int64_t>(static_cast<__int128>(count) * c / chunks);
    };
    kernel(arguments, edge(chunk), edge(chunk + 1));
  }
};

// Of the thread that runs a part of a loop.
thread_local bool insideLoop = false;

void runChunk(void *data, int64_t chunk) {
  const bool before = insideLoop;
  insideLoop = true;
  static_cast<const Loop *>(data)->run(chunk);
  insideLoop = before;
}

void doNothing(void *) {}

// A team of two that does nothing for the life of the process.
void *sleepForever(void *) {
  GOMP_parallel(doNothing, nullptr, 2, 0);
  for (;;)
    pause(); // every signal is blocked
}

// libgomp's threads spin for many milliseconds before they sleep, unless the process has more of
// them than CPUs: then for microseconds ("GOMP_SPINCOUNT" in its manual). A spinning worker uses up
// its share of a CPU that anybody else wants, so that it is not running when there is work: steps
// of many short kernels take 3 to 40 times as long on a busy machine (docs/decisions/0029).
// The variable itself is read before main; one more team that sleeps has the same effect.
void shortenSpinning() {
  sigset_t all, before;
  sigfillset(&all);
  pthread_t thread;
  pthread_sigmask(SIG_SETMASK, &all, &before);
  if (pthread_create(&thread, nullptr, sleepForever, nullptr) == 0)
    pthread_detach(thread);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void setControlWord(void *data) {
  Forked forked(data);
  _mm_setcsr(*static_cast<const unsigned *>(data));
}

} // namespace

ThreadTeam::ThreadTeam(unsigned threads) : size(threads) {
  watchForks();
  // A smaller team leaves CPUs to others. Who sets a variable has decided.
  static std::once_flag once;
  if (threads > 1 && threads >= static_cast<unsigned>(omp_get_num_procs()) &&
      !std::getenv("GOMP_SPINCOUNT") && !std::getenv("OMP_WAIT_POLICY"))
    std::call_once(once, shortenSpinning);
}

bool ThreadTeam::insideRegion() noexcept { return insideLoop || omp_in_parallel(); }

void ThreadTeam::begin() noexcept {
  callersControlWord = _mm_getcsr();
  callersThreads = omp_get_max_threads();
  workersPrepared = false;
  running = true;
  // Where libgomp would wait for workers that a fork has ended, its callers compute alone.
  omp_set_num_threads(cameOutOfFork() ? 1 : static_cast<int>(size));
  _mm_setcsr(computingControlWord);
}

void ThreadTeam::end() noexcept {
  if (pool)
    WorkerPool::give(pool);
  pool = nullptr;
  running = false;
  if (workersPrepared)
    forkTeam(setControlWord, &callersControlWord, size);
  omp_set_num_threads(callersThreads);
  _mm_setcsr(callersControlWord);
}

void ThreadTeam::prepareWorkers() noexcept {
  if (pool)
    pool->rest();
  if (workersPrepared || size == 1 || insideRegion() || cameOutOfFork())
    return;
  unsigned word = computingControlWord;
  forkTeam(setControlWord, &word, size);
  workersPrepared = true;
}

void ThreadTeam::parallelFor(mpc_rt_kernel_fn kernel, void *const *arguments, int64_t count,
                             int64_t grain) {
  if (count <= 0)
    return;
  grain = std::max<int64_t>(grain, 1);
  int64_t most = count / grain + (count % grain != 0);
  Loop loop{kernel, arguments, count, std::min<int64_t>(size, most)};
  if (loop.chunks == 1 || insideRegion()) {
    for (int64_t chunk = 0; chunk < loop.chunks; ++chunk)
      loop.run(chunk);
    return;
  }
  WorkerPool *workers = pool ? pool : WorkerPool::take(size - 1);
  if (!workers) { // the system grants no threads
    for (int64_t chunk = 0; chunk < loop.chunks; ++chunk)
      loop.run(chunk);
    return;
  }
  workers->run(runChunk, &loop, loop.chunks);
  if (running)
    pool = workers; // until end()
  else
    WorkerPool::give(workers);
}

} // namespace mpc::rt
