// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reductions that go on while the rank computes: each is started, done by a thread of its own in
// the order of the starts, and waited for before its data is read.
#ifndef MPC_RUNTIME_COLLECTIVES_COMMUNICATOR_H
#define MPC_RUNTIME_COLLECTIVES_COMMUNICATOR_H

#include "runtime/base/memory.h"
#include "runtime/collectives/event_log.h"
#include "runtime/collectives/rank_parts.h"
#include "runtime/collectives/reducer.h"

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace mpc::rt {

class Communicator : public Reducer {
public:
  explicit Communicator(std::unique_ptr<Transport> transport) : transport(std::move(transport)) {}
  ~Communicator() override;
  Communicator(const Communicator &) = delete;
  Communicator &operator=(const Communicator &) = delete;

  unsigned rank() const { return transport->rank(); }
  unsigned size() const { return transport->size(); }
  const char *name() const { return transport->name(); }

  // The arrays go in one message. Where the transport stays on one thread, wait() does all of it.
  uint64_t start(Reduction reduction, std::vector<RankArray> arrays) override;
  mpc_rt_status_t wait(uint64_t started) override;
  // Both.
  mpc_rt_status_t allReduce(Reduction reduction, void *data, size_t count);
  mpc_rt_status_t broadcast(void *data, size_t bytes, unsigned root);
  void endJob(int code) { transport->endJob(code); }
  // Messages and waits are recorded where it is open.
  EventLog &log() { return events; }

private:
  struct Job {
    Reduction reduction;
    std::vector<RankArray> arrays;
  };
  mpc_rt_status_t waitFor(uint64_t number);
  void work();
  static size_t bytesOf(const Job &job);
  void finish(const Job &job);
  mpc_rt_status_t reduce(const Job &job);
  mpc_rt_status_t reduceInBFloat16(const Job &job);
  mpc_rt_status_t reduceArrays(Reduction reduction, const std::vector<RankArray> &arrays);
  mpc_rt_status_t report();

  const std::unique_ptr<Transport> transport;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Job> jobs; // not begun
  uint64_t started = 0, finished = 0;
  bool closing = false;
  mpc_rt_status_t failure = MPC_RT_OK; // the first one, after which nothing is done
  std::string problem;
  EventLog events;
  PartMemory memory;
  std::vector<uint16_t> rounded; // what goes between ranks in place of float32
  std::thread worker;
};

} // namespace mpc::rt

struct mpc_rt_communicator_t {
  explicit mpc_rt_communicator_t(std::unique_ptr<mpc::rt::Transport> transport)
      : communicator(std::move(transport)) {}
  mpc::rt::Communicator communicator;
  std::string events; // what mpc_rt_communicator_events() returned
};

#endif
