// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A job whose ranks are threads of this process. Messages between them wait for each other as those
// of real ranks do, in a random order and at random speed; and one of them may fail.
#ifndef MPC_TEST_UNIT_RUNTIME_COLLECTIVES_FAKE_JOB_H
#define MPC_TEST_UNIT_RUNTIME_COLLECTIVES_FAKE_JOB_H

#include "runtime/collectives/transport.h"

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <random>
#include <vector>

namespace mpc::rt::test {

struct Faults {
  unsigned rank = ~0u;     // which rank is gone …
  unsigned afterCalls = 0; // … from this exchange of its on
  bool delays = false;
};

class FakeJob {
public:
  FakeJob(unsigned size, Faults faults = {}) : size(size), faults(faults) {}

  // body(transport) on a thread per rank. Returns when all are over.
  void run(const std::function<void(std::unique_ptr<Transport>)> &body);

private:
  friend class FakeTransport;
  using Message = std::vector<char>;

  const unsigned size;
  const Faults faults;
  std::mutex mutex;
  std::condition_variable changed;
  std::map<std::pair<unsigned, unsigned>, std::deque<Message>> underWay; // from, to
  bool broken = false;
};

} // namespace mpc::rt::test

#endif
