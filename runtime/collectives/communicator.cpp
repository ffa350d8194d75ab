// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/collectives/communicator.h"

#include "runtime/base/status.h"

namespace mpc::rt {

Communicator::~Communicator() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    closing = true;
  }
  changed.notify_all();
  if (worker.joinable())
    worker.join();
}

uint64_t Communicator::start(Reduction reduction, void *data, size_t count) {
  std::unique_lock<std::mutex> lock(mutex);
  jobs.push_back({reduction, data, count});
  const uint64_t number = ++started;
  if (size() == 1 || transport->mustStayOnOneThread())
    return number;
  if (!worker.joinable())
    worker = std::thread([this] { work(); });
  lock.unlock();
  changed.notify_all();
  return number;
}

mpc_rt_status_t Communicator::wait(uint64_t number) {
  std::unique_lock<std::mutex> lock(mutex);
  if (worker.joinable()) {
    changed.wait(lock, [&] { return finished >= number; });
    return report();
  }
  while (finished < number) {
    const Job job = jobs.front();
    jobs.pop_front();
    lock.unlock();
    finish(job);
    lock.lock();
    ++finished;
  }
  return report();
}

void Communicator::work() {
  std::unique_lock<std::mutex> lock(mutex);
  for (;;) {
    changed.wait(lock, [&] { return closing || !jobs.empty(); });
    if (jobs.empty())
      return;
    const Job job = jobs.front();
    jobs.pop_front();
    lock.unlock();
    finish(job);
    lock.lock();
    ++finished;
    changed.notify_all();
  }
}

void Communicator::finish(const Job &job) {
  if (failure != MPC_RT_OK)
    return;
  const mpc_rt_status_t status = guard("all_reduce", [&] {
    const size_t bytes = allReduceScratch(*transport, job.reduction, job.count);
    if (scratch.size() < bytes)
      scratch.resize(bytes);
    return rt::allReduce(*transport, job.reduction, job.data, job.count, scratch.data());
  });
  if (status == MPC_RT_OK)
    return;
  // The thread's message dies with it; who waits reports it.
  std::lock_guard<std::mutex> lock(mutex);
  failure = status;
  problem = mpc_rt_last_error();
}

mpc_rt_status_t Communicator::report() {
  if (failure == MPC_RT_OK)
    return MPC_RT_OK;
  return fail(mpc_rt_status_code_t(failure), "%s", problem.c_str());
}

mpc_rt_status_t Communicator::allReduce(Reduction reduction, void *data, size_t count) {
  return wait(start(reduction, data, count));
}

mpc_rt_status_t Communicator::broadcast(void *data, size_t bytes, unsigned root) {
  // Reductions that were started come first: messages between two ranks have one order.
  if (auto status = wait(started))
    return status;
  return rt::broadcast(*transport, data, bytes, root);
}

} // namespace mpc::rt
