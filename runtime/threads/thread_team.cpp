// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Our own loops run on worker pools, the libraries' on libgomp.
#include "runtime/threads/thread_team.h"
#include "runtime/base/floating_environment.h"
#include "runtime/base/fork_watch.h"
#include "runtime/base/status.h"
#include "runtime/base/thread_order.h"

#include <algorithm>
#include <cctype>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <execinfo.h>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <pthread.h>
#include <string>

extern "C" {
void GOMP_parallel(void (*body)(void *), void *data, unsigned threads, unsigned flags);
int omp_get_thread_num(void);
int omp_get_num_threads(void);
int omp_get_max_threads(void);
void omp_set_num_threads(int threads);
int omp_in_parallel(void);
int omp_get_num_procs(void);
int omp_get_initial_device(void);
int omp_pause_resource(int kind, int device);
}

namespace mpc::rt {
namespace {

constexpr int pauseHard = 2; // omp_pause_hard (OpenMP 5.2, 18.6)

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

  void run(Turns &turns) const {
    // 128-bit: count * chunk may pass 2^63.
    auto edge = [&](int64_t c) {
      return static_cast<int64_t>(static_cast<__int128>(count) * c / chunks);
    };
    for (int64_t chunk; turns.take(chunk);)
      kernel(arguments, edge(chunk), edge(chunk + 1));
  }
};

// This thread runs a part of a loop.
thread_local bool insideLoop = false;

struct Part {
  WorkerPool::Body body;
  void *data;
};
void runPart(void *data, Turns &turns) {
  const auto &part = *static_cast<const Part *>(data);
  const bool before = insideLoop;
  insideLoop = true;
  part.body(part.data, turns);
  insideLoop = before;
}

// libgomp gives its threads this much stack: OMP_STACKSIZE (OpenMP 5.2, 21.2.2; kilobytes without a
// suffix), GOMP_STACKSIZE, else what the system gives every thread.
size_t libraryStack(const pthread_attr_t &attributes) noexcept {
  size_t usual = 0;
  pthread_attr_getstacksize(&attributes, &usual);
  for (const char *name : {"OMP_STACKSIZE", "GOMP_STACKSIZE"}) {
    const char *value = std::getenv(name);
    char *end = nullptr;
    const size_t number = value ? std::strtoull(value, &end, 10) : 0;
    if (!number)
      continue;
    const char *const units = "BKMG";
    const char *unit = *end ? std::strchr(units, std::toupper(*end)) : nullptr;
    return number << 10 * (unit ? unit - units : 1);
  }
  return usual;
}

// libgomp ends the process where the system grants it no thread or no memory. This starts as many
// threads with the same stacks first, all at once, and ends them again: glibc keeps their stacks.
bool grantsThreads(unsigned count) noexcept {
  // Its threads end with pthread_exit(), which ends the process where libgcc_s cannot be opened.
  // Asking for a stack opens it, once.
  void *frame = nullptr;
  if (backtrace(&frame, 1) < 1)
    return false;
  constexpr size_t bookkeeping = 256 << 10; // of libgomp, for any team
  std::unique_ptr<pthread_t[]> threads(new (std::nothrow) pthread_t[count]);
  std::unique_ptr<char[]> memory(new (std::nothrow) char[bookkeeping + count * 4096]);
  pthread_attr_t attributes;
  if (!threads || !memory || pthread_getattr_default_np(&attributes) != 0)
    return false;
  pthread_attr_setstacksize(&attributes, libraryStack(attributes));
  struct Gate {
    std::mutex mutex;
    static void *pass(void *gate) {
      std::lock_guard<std::mutex> lock(static_cast<Gate *>(gate)->mutex);
      return nullptr;
    }
  } gate;
  sigset_t all, before;
  sigfillset(&all); // signals are for the program's own threads
  pthread_sigmask(SIG_SETMASK, &all, &before);
  unsigned started = 0;
  {
    std::lock_guard<std::mutex> lock(gate.mutex);
    while (started < count &&
           pthread_create(&threads[started], &attributes, Gate::pass, &gate) == 0)
      ++started;
  }
  for (unsigned i = 0; i < started; ++i)
    pthread_join(threads[i], nullptr);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
  return started == count;
}

void doNothing(void *) {}

// The largest team that libgomp has made for this thread, and how many teams of ours live that
// this thread made.
thread_local unsigned libraryThreads = 1;
thread_local unsigned teamsOfThread = 0;

// From here on libgomp has a team of that size for this thread, or there is none and nothing
// happened.
bool makeLibraryTeam(unsigned threads) noexcept {
  if (libraryThreads >= threads)
    return true;
  if (!grantsThreads(threads - 1))
    return false;
  GOMP_parallel(doNothing, nullptr, threads, 0);
  libraryThreads = threads;
  return true;
}

// libgomp's threads spin for many milliseconds before they sleep, unless the process has more of
// them than CPUs: then for microseconds ("GOMP_SPINCOUNT" in its manual). A spinning worker uses up
// its share of a CPU that anybody else wants, so that it is not running when there is work: steps
// of many short kernels take 3 to 40 times as long on a busy machine (docs/decisions/0029).
// The variable itself is read before main; one more team, which sleeps as long as there are teams
// of ours, has the same effect.
class SleepingTeam {
public:
  void begin() noexcept {
    if (thread && forks == forksSeen())
      return;
    forks = forksSeen();
    over = begun = false;
    thread.reset(); // that of a parent
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_t started;
    if (pthread_create(&started, nullptr, sleep, this) == 0)
      thread = started;
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    // While it asks whether there is memory for a team and makes it, its starter takes none.
    std::unique_lock<std::mutex> lock(mutex);
    changed.wait(lock, [&] { return begun || !thread; });
  }

  void end() noexcept {
    if (thread && forks == forksSeen()) {
      {
        std::lock_guard<std::mutex> lock(mutex);
        over = true;
      }
      changed.notify_all();
      pthread_join(*thread, nullptr);
    }
    thread.reset();
  }

private:
  static void *sleep(void *data) {
    auto &own = *static_cast<SleepingTeam *>(data);
    makeLibraryTeam(2);
    std::unique_lock<std::mutex> lock(own.mutex);
    own.begun = true;
    own.changed.notify_all();
    own.changed.wait(lock, [&] { return own.over; });
    return nullptr; // its team ends with it
  }

  std::optional<pthread_t> thread;
  unsigned forks = 0; // of the process, when the thread was started
  std::mutex mutex;
  std::condition_variable changed;
  bool begun = false, over = false;
};

// All teams of the process. Never destroyed: threads may still run at exit.
struct Teams {
  std::mutex mutex;
  unsigned count = 0;
  SleepingTeam sleeping;
};
Teams &teams() {
  static auto *all = new Teams;
  return *all;
}

// libgomp's first answer to another number takes memory, and ends the process where there is none.
void setLibraryThreads(int threads) noexcept {
  if (omp_get_max_threads() != threads)
    omp_set_num_threads(threads);
}

void setControlWord(void *data) {
  Forked forked(data);
  _mm_setcsr(*static_cast<const unsigned *>(data));
}

} // namespace

ThreadTeam::ThreadTeam(unsigned threads) : size(threads), maker(pthread_self()) {
  watchForks();
  ForkBarrier barrier;
  Teams &all = teams();
  std::lock_guard<std::mutex> lock(all.mutex);
  ++all.count;
  ++teamsOfThread;
}

ThreadTeam::~ThreadTeam() {
  ForkBarrier barrier;
  Teams &all = teams();
  std::lock_guard<std::mutex> lock(all.mutex);
  if (pthread_equal(maker, pthread_self()) && --teamsOfThread == 0 && libraryThreads > 1 &&
      !cameOutOfFork() && !insideRegion()) {
    omp_pause_resource(pauseHard, omp_get_initial_device());
    libraryThreads = 1;
  }
  // Programs that count threads or leaks find none of ours behind the last context.
  if (--all.count == 0) {
    all.sleeping.end();
    WorkerPool::endAll();
  }
}

bool ThreadTeam::insideRegion() noexcept { return insideLoop || omp_in_parallel(); }

void ThreadTeam::begin() noexcept {
  callersControlWord = _mm_getcsr();
  callersThreads = omp_get_max_threads();
  workersPrepared = false;
  running = true;
  // Where libgomp would wait for workers that a fork has ended, its callers compute alone.
  setLibraryThreads(cameOutOfFork() ? 1 : static_cast<int>(size));
  _mm_setcsr(computingControlWord);
}

void ThreadTeam::end() noexcept {
  if (pool)
    WorkerPool::give(pool);
  pool = nullptr;
  running = false;
  if (workersPrepared)
    forkTeam(setControlWord, &callersControlWord, size);
  setLibraryThreads(callersThreads);
  _mm_setcsr(callersControlWord);
}

void ThreadTeam::makeTeamOfLibraries() {
  { // Also where this thread has its team: the sleeping one ends with the last context of any.
    ForkBarrier barrier;
    Teams &all = teams();
    std::lock_guard<std::mutex> lock(all.mutex);
    // A smaller team leaves CPUs to others. Who sets a variable has decided.
    if (size >= static_cast<unsigned>(omp_get_num_procs()) && !std::getenv("GOMP_SPINCOUNT") &&
        !std::getenv("OMP_WAIT_POLICY"))
      all.sleeping.begin();
  }
  if (!makeLibraryTeam(size))
    throw Exhausted("the system grants no " + std::to_string(size) +
                    " threads; expected room for them (ulimit -u, ulimit -v), or a context with "
                    "fewer threads");
}

void ThreadTeam::prepareWorkers() {
  if (pool)
    pool->rest();
  if (workersPrepared || size == 1 || insideRegion() || cameOutOfFork())
    return;
  makeTeamOfLibraries();
  unsigned word = computingControlWord;
  forkTeam(setControlWord, &word, size);
  workersPrepared = true;
}

void ThreadTeam::parallelFor(mpc_rt_kernel_fn kernel, void *const *arguments, int64_t count,
                             int64_t grain) {
  if (count <= 0)
    return;
  grain = std::max<int64_t>(grain, 1);
  const int64_t most = count / grain + (count % grain != 0), threads = size;
  // Threads have as many chunks each.
  const int64_t ofThread = std::min(most / threads, threads > 1 ? partsPerThread : 1);
  Loop loop{kernel, arguments, count, ofThread > 0 ? ofThread * threads : most};
  run([](void *data, Turns &turns) { static_cast<const Loop *>(data)->run(turns); }, &loop,
      loop.chunks, threads);
}

void ThreadTeam::run(WorkerPool::Body body, void *data, int64_t count, int64_t threads) {
  if (count <= 0)
    return;
  const bool isAlone = count == 1 || threads <= 1 || size == 1 || insideRegion();
  WorkerPool *workers = isAlone ? nullptr : pool ? pool : WorkerPool::take(size - 1);
  if (!workers) { // or the system grants no threads
    LoopShare all;
    cutIntoShares(&all, 1, count);
    Turns turns(&all, 1, 0);
    return body(data, turns);
  }
  Part part{body, data};
  workers->run(runPart, &part, count, threads);
  if (running)
    pool = workers; // until end()
  else
    WorkerPool::give(workers);
}

} // namespace mpc::rt
