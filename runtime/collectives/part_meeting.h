// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Work that the parts of a batch on one rank do together: when all have come to it, those that
// waited take its blocks.
#ifndef MPC_RUNTIME_COLLECTIVES_PART_MEETING_H
#define MPC_RUNTIME_COLLECTIVES_PART_MEETING_H

#include "mpc-rt/status.h"

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace mpc::rt {

class PartMeeting {
public:
  explicit PartMeeting(unsigned parts) : parts(parts), mostWorkers(parts) {}

  // No more threads than that work at the same time: others would take the caches from them.
  void setWorkers(unsigned most) { mostWorkers = most; }

  // Others read what a part brings until its meet() returns.
  using Brought = std::vector<const void *>; // by part
  struct Work {
    size_t blocks = 0; // 0: nothing is done together
    std::function<void(unsigned part, size_t block)> run;
  };
  // Returns when all parts have come and the work is done; `plan` of the last one says which.
  // `done`: whether there was some.
  mpc_rt_status_t meet(unsigned part, const void *brought,
                       const std::function<Work(const Brought &)> &plan, bool &done);
  // A part will not come: the others stop waiting, with this failure.
  void stop(mpc_rt_status_t status, const char *problem);
  // When no part runs: forgets a failure.
  void restart();

private:
  struct Round {
    explicit Round(unsigned parts) : brought(parts) {}
    Brought brought;
    Work work;
    unsigned come = 0, workers = 0;
    bool isReady = false;
    std::atomic<size_t> next{0};
    size_t ended = 0;
    bool isOver() const { return isReady && ended == work.blocks; }
  };
  void takeBlocks(std::unique_lock<std::mutex> &lock, Round &round, unsigned part);
  // With the mutex.
  void keepFailure(mpc_rt_status_t status, const char *problem);

  const unsigned parts;
  unsigned mostWorkers;
  std::mutex mutex;
  std::condition_variable changed;
  std::shared_ptr<Round> open; // that not all parts have come to
  std::atomic<mpc_rt_status_t> failure{MPC_RT_OK};
  std::string problem;
};

} // namespace mpc::rt

#endif
