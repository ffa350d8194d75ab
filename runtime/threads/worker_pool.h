// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Threads that help one thread with its loops. Between two loops they wait a little while awake:
// waking a sleeping thread takes longer than most kernels of a recurrent layer. Who waits longer
// sleeps, and a loop never waits for a thread that has not begun: the calling thread does what
// nobody took.
#ifndef MPC_RUNTIME_THREADS_WORKER_POOL_H
#define MPC_RUNTIME_THREADS_WORKER_POOL_H

#include "runtime/threads/loop_shares.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <pthread.h>

namespace mpc::rt {

class WorkerPool {
public:
  // A pool with that many workers that nobody uses, for the calling thread until give(). Null if
  // the system grants no thread. Pools are kept until endAll(): their number is that of the threads
  // that computed at once.
  static WorkerPool *take(unsigned workers) noexcept;
  static void give(WorkerPool *pool) noexcept;
  // Ends the threads of all pools that nobody uses, and waits for that.
  static void endAll() noexcept;

  using Body = void (*)(void *data, Turns &turns);
  // Shares out [0, count) between the calling thread, whose slot is 0, and workers, whose slots are
  // less than `slots`: each that comes in time calls `body`, which takes what is left. A worker
  // that comes between two loops may call it again when it has returned.
  void run(Body body, void *data, int64_t count, int64_t slots) noexcept;
  // Workers that are awake go to sleep: the CPUs are about to be used by others.
  void rest() noexcept;

  WorkerPool(const WorkerPool &) = delete;
  WorkerPool &operator=(const WorkerPool &) = delete;

private:
  explicit WorkerPool(unsigned workers) : workers(workers) {}
  bool start() noexcept;
  void stop() noexcept;
  static void *work(void *pool);
  void waitForLoop(uint32_t seen) noexcept;
  void takePart(int64_t slot) noexcept;

  const unsigned workers;
  unsigned forks = 0; // of the process, when the threads were started
  WorkerPool *next = nullptr;
  std::unique_ptr<pthread_t[]> threads;
  unsigned started = 0;
  std::atomic<unsigned> slotsGiven{0};
  std::unique_ptr<LoopShare[]> shares; // of each slot

  // One line each: written by different threads.
  struct alignas(64) {
    std::atomic<uint32_t> loops{0}; // begun so far; workers sleep on it
    std::atomic<uint32_t> sleepers{0};
    std::atomic<bool> resting{false};
    std::atomic<bool> open{false};
    std::atomic<bool> over{false}; // workers end instead of beginning another one
    Body body = nullptr;
    void *data = nullptr;
    int64_t parts = 0, slots = 0;
  } loop;
  struct alignas(64) {
    std::atomic<uint32_t> active{0}; // workers inside the loop; its caller sleeps on it
    std::atomic<bool> awaited{false};
  } parts;
};

} // namespace mpc::rt

#endif
