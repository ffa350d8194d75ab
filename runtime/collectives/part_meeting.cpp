// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/collectives/part_meeting.h"

#include "runtime/base/status.h"

namespace mpc::rt {

mpc_rt_status_t PartMeeting::meet(unsigned part, const void *brought,
                                  const std::function<Work(const Brought &)> &plan, bool &done) {
  std::unique_lock<std::mutex> lock(mutex);
  if (!open)
    open = std::make_shared<Round>(parts);
  const std::shared_ptr<Round> round = open;
  round->brought[part] = brought;
  if (++round->come == parts) {
    open.reset();
    const mpc_rt_status_t status = guard("parts of a batch", [&] {
      round->work = plan(round->brought);
      return MPC_RT_OK;
    });
    if (status != MPC_RT_OK)
      keepFailure(status, mpc_rt_last_error());
    round->isReady = status == MPC_RT_OK;
    changed.notify_all();
  }
  const auto hasFailed = [&] { return failure != MPC_RT_OK; };
  const auto mayWork = [&] {
    return round->isReady && round->workers < mostWorkers && round->next < round->work.blocks;
  };
  while (!round->isOver() && !hasFailed()) {
    if (mayWork())
      takeBlocks(lock, *round, part);
    else
      changed.wait(lock, [&] { return round->isOver() || hasFailed() || mayWork(); });
  }
  // The others may read what this part has brought.
  changed.wait(lock, [&] { return round->workers == 0; });
  done = round->isOver() && round->work.blocks != 0;
  return round->isOver() ? MPC_RT_OK
                         : fail(mpc_rt_status_code_t(failure.load()), "%s", problem.c_str());
}

void PartMeeting::takeBlocks(std::unique_lock<std::mutex> &lock, Round &round, unsigned part) {
  ++round.workers;
  lock.unlock();
  size_t worked = 0;
  const mpc_rt_status_t status = guard("parts of a batch", [&] {
    for (size_t block; failure == MPC_RT_OK && (block = round.next++) < round.work.blocks; ++worked)
      round.work.run(part, block);
    return MPC_RT_OK;
  });
  lock.lock();
  if (status != MPC_RT_OK)
    keepFailure(status, mpc_rt_last_error());
  round.ended += worked;
  --round.workers;
  changed.notify_all();
}

void PartMeeting::keepFailure(mpc_rt_status_t status, const char *text) {
  if (failure == MPC_RT_OK) {
    problem = text;
    failure = status;
  }
}

void PartMeeting::stop(mpc_rt_status_t status, const char *text) {
  std::lock_guard<std::mutex> lock(mutex);
  keepFailure(status, text);
  changed.notify_all();
}

void PartMeeting::restart() {
  std::lock_guard<std::mutex> lock(mutex);
  failure = MPC_RT_OK;
  open.reset();
}

} // namespace mpc::rt
