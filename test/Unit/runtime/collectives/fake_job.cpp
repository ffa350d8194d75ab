// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "test/Unit/runtime/collectives/fake_job.h"

#include "runtime/base/status.h"

#include <chrono>
#include <cstring>
#include <thread>

namespace mpc::rt::test {

class FakeTransport : public Transport {
public:
  FakeTransport(FakeJob &job, unsigned rank) : job(job), ownRank(rank), random(rank + 1) {}

  unsigned rank() const override { return ownRank; }
  unsigned size() const override { return job.size; }
  const char *name() const override { return "fake"; }
  void endJob(int) override { breakJob(); }

  mpc_rt_status_t exchange(const Exchange &call) override {
    if (job.faults.delays)
      std::this_thread::sleep_for(std::chrono::microseconds(random() % 300));
    if (ownRank == job.faults.rank && calls++ >= job.faults.afterCalls) {
      breakJob();
      return fail(MPC_RT_UNAVAILABLE, "fake: rank %u is gone", ownRank);
    }
    std::unique_lock<std::mutex> lock(job.mutex);
    if (call.sentBytes) {
      auto *sent = static_cast<const char *>(call.sent);
      job.underWay[{ownRank, call.peer}].emplace_back(sent, sent + call.sentBytes);
      job.changed.notify_all();
    }
    if (!call.receivedBytes)
      return MPC_RT_OK;
    auto &messages = job.underWay[{call.peer, ownRank}];
    job.changed.wait(lock, [&] { return job.broken || !messages.empty(); });
    if (messages.empty())
      return fail(MPC_RT_UNAVAILABLE, "fake: rank %u has no answer of rank %u", ownRank, call.peer);
    if (messages.front().size() != call.receivedBytes)
      return fail(MPC_RT_INTERNAL, "fake: rank %u expects %zu bytes of rank %u, and gets %zu",
                  ownRank, call.receivedBytes, call.peer, messages.front().size());
    std::memcpy(call.received, messages.front().data(), call.receivedBytes);
    messages.pop_front();
    return MPC_RT_OK;
  }

private:
  void breakJob() {
    std::lock_guard<std::mutex> lock(job.mutex);
    job.broken = true;
    job.changed.notify_all();
  }

  FakeJob &job;
  const unsigned ownRank;
  unsigned calls = 0;
  std::minstd_rand random;
};

void FakeJob::run(const std::function<void(std::unique_ptr<Transport>)> &body) {
  std::vector<std::thread> ranks;
  for (unsigned rank = 0; rank != size; ++rank)
    ranks.emplace_back([&, rank] { body(std::make_unique<FakeTransport>(*this, rank)); });
  for (std::thread &rank : ranks)
    rank.join();
}

} // namespace mpc::rt::test
