// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The threads of a context: workers of our own for our loops, and libgomp's team, which oneDNN
// forks. They take turns: who has nothing to do sleeps while the other computes
// (docs/decisions/0035). libgomp is entered through its own symbols, because clang's -fopenmp would
// link a second OpenMP runtime.
#ifndef MPC_RUNTIME_THREADS_THREAD_TEAM_H
#define MPC_RUNTIME_THREADS_THREAD_TEAM_H

#include "mpc-rt/executable.h"
#include "runtime/threads/worker_pool.h"

#include <algorithm>
#include <pthread.h>

namespace mpc::rt {

class ThreadTeam {
public:
  // Parts of a loop per thread: with so many two threads end it within an eighth of it. Each costs
  // a call.
  static constexpr int64_t partsPerThread = 4;

  explicit ThreadTeam(unsigned threads);
  // The last one of the process ends our workers. The last one that a thread made ends libgomp's
  // team of that thread, where the same thread destroys it; else that team ends with the thread.
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam &) = delete;
  ThreadTeam &operator=(const ThreadTeam &) = delete;
  unsigned threads() const { return size; }

  // Between begin and end the calling thread and its workers flush denormals, and OpenMP libraries
  // called from here use `threads` threads.
  void begin() noexcept;
  void end() noexcept;

  // Chunk c of n is [count*c/n, count*(c+1)/n), where n depends on count, grain and the number of
  // threads that were asked for alone, not on how many the system grants. There are several chunks
  // per thread if they are not smaller than a grain. Nested calls run inline.
  void parallelFor(mpc_rt_kernel_fn kernel, void *const *arguments, int64_t count, int64_t grain);

  // A grain with which there is one chunk per thread at most: where a chunk reads all of what
  // others read, or its part of many rows.
  int64_t grainOfOneChunk(int64_t count, int64_t least = 1) const {
    return std::max(least, count / size + (count % size != 0));
  }

  // The same for a callable (int64_t begin, int64_t end).
  template <typename Body> void forRange(int64_t count, int64_t grain, const Body &body) {
    void *argument = const_cast<Body *>(&body);
    parallelFor([](void *const *arguments, int64_t begin,
                   int64_t end) { (*static_cast<const Body *>(arguments[0]))(begin, end); },
                &argument, count, grain);
  }

  // body(turns) by up to `threads` threads, of which each takes what it computes of [0, count).
  // Turns::slot() is less than `threads`.
  template <typename Body> void shareOut(int64_t count, int64_t threads, const Body &body) {
    run([](void *data, Turns &turns) { (*static_cast<const Body *>(data))(turns); },
        const_cast<Body *>(&body), count, threads);
  }

  // Before calling into a library that forks on its own: its workers must flush denormals too, and
  // ours must leave the CPUs to them. The library's team is made here, so that programs whose
  // kernels are all ours have none. Throws Exhausted where the system grants no threads for it:
  // libgomp would end the process.
  void prepareWorkers();

  // True inside a parallel region of anybody.
  static bool insideRegion() noexcept;

private:
  void run(WorkerPool::Body body, void *data, int64_t count, int64_t threads);
  void makeTeamOfLibraries();

  unsigned size;
  pthread_t maker;
  unsigned callersControlWord = 0;
  int callersThreads = 0;
  bool workersPrepared = false, running = false;
  WorkerPool *pool = nullptr; // from the first loop to end()
};

} // namespace mpc::rt

#endif
