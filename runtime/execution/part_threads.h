// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A thread for each part of a batch, the first of them the caller's. Parts wait for each other in
// the middle of their work, which loops of a ThreadTeam must not.
#ifndef MPC_RUNTIME_EXECUTION_PART_THREADS_H
#define MPC_RUNTIME_EXECUTION_PART_THREADS_H

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace mpc::rt {

class PartThreads {
public:
  // Throws Exhausted where the system grants no threads.
  explicit PartThreads(unsigned parts);
  ~PartThreads();
  PartThreads(const PartThreads &) = delete;
  PartThreads &operator=(const PartThreads &) = delete;

  // body(part) for each part, all at the same time. It must not throw.
  void run(const std::function<void(unsigned)> &body);

private:
  void work(unsigned part);
  void end();

  std::mutex mutex;
  std::condition_variable changed;
  const std::function<void(unsigned)> *body = nullptr;
  uint64_t begun = 0; // how many runs
  unsigned busy = 0;  // threads that have not ended the run
  bool closing = false;
  std::vector<std::thread> threads;
};

} // namespace mpc::rt

#endif
