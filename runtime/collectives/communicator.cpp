// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/collectives/communicator.h"

#include "runtime/base/dtype.h"
#include "runtime/base/status.h"
#include "runtime/collectives/combine.h"

#include <algorithm>

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

uint64_t Communicator::start(Reduction reduction, std::vector<RankArray> arrays) {
  std::unique_lock<std::mutex> lock(mutex);
  jobs.push_back({reduction, std::move(arrays)});
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
  const int64_t begin = events.isOpen() && size() > 1 ? EventLog::now() : 0;
  const mpc_rt_status_t status = waitFor(number);
  if (begin)
    events.add(EventLog::Kind::wait, begin, /*bytes=*/0);
  return status;
}

mpc_rt_status_t Communicator::waitFor(uint64_t number) {
  std::unique_lock<std::mutex> lock(mutex);
  if (worker.joinable()) {
    changed.wait(lock, [&] { return finished >= number; });
    return report();
  }
  while (finished < number) {
    const Job job = std::move(jobs.front());
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
    const Job job = std::move(jobs.front());
    jobs.pop_front();
    lock.unlock();
    finish(job);
    lock.lock();
    ++finished;
    changed.notify_all();
  }
}

mpc_rt_status_t Communicator::reduce(const Job &job) {
  return job.reduction.inBFloat16 ? reduceInBFloat16(job) : reduceArrays(job.reduction, job.arrays);
}

mpc_rt_status_t Communicator::reduceInBFloat16(const Job &job) {
  const size_t count = countOf(job.arrays);
  if (rounded.size() < count)
    rounded.resize(count);
  std::vector<RankArray> narrow;
  uint16_t *at = rounded.data();
  double error = 0;
  for (const RankArray &array : job.arrays) {
    const auto *numbers = static_cast<const float *>(array.data);
    if (events.isOpen())
      error = std::max(error, errorOfBFloat16(numbers, array.count));
    roundToBFloat16(numbers, at, array.count);
    narrow.push_back({at, array.count});
    at += array.count;
  }
  if (error > 0)
    events.addRounding(error);
  Reduction reduction = job.reduction;
  reduction.dtype = MPC_RT_BFLOAT16;
  // Parts are those of each array; the whole is one.
  if (reduction.share == Share::whole)
    narrow = {{rounded.data(), count}};
  if (auto status = reduceArrays(reduction, narrow))
    return status;
  at = rounded.data();
  for (const RankArray &array : job.arrays) {
    widenBFloat16(at, static_cast<float *>(array.data), array.count);
    at += array.count;
  }
  return MPC_RT_OK;
}

mpc_rt_status_t Communicator::reduceArrays(Reduction reduction,
                                           const std::vector<RankArray> &arrays) {
  const size_t element = dtypeSize(reduction.dtype);
  if (reduction.share == Share::ownPart)
    return reduceToParts(*transport, reduction, arrays, memory);
  if (reduction.share == Share::gathered)
    return gatherParts(*transport, element, arrays, memory);
  auto allReduceOf = [&](void *data, size_t count) {
    if (reduction.kind == MPC_RT_REDUCTION_SUM_BEFORE)
      return sumBefore(*transport, reduction.dtype, data, count);
    const size_t bytes = allReduceScratch(*transport, reduction, count);
    if (memory.scratch.size() < bytes)
      memory.scratch.resize(bytes);
    return rt::allReduce(*transport, reduction, data, count, memory.scratch.data());
  };
  if (arrays.size() == 1)
    return allReduceOf(arrays[0].data, arrays[0].count);
  std::vector<char> &packed = memory.packed;
  const size_t count = countOf(arrays);
  if (packed.size() < count * element)
    packed.resize(count * element);
  char *at = packed.data();
  for (const RankArray &array : arrays)
    at = std::copy_n(static_cast<const char *>(array.data), array.count * element, at);
  if (auto status = allReduceOf(packed.data(), count))
    return status;
  at = packed.data();
  for (const RankArray &array : arrays) {
    std::copy_n(at, array.count * element, static_cast<char *>(array.data));
    at += array.count * element;
  }
  return MPC_RT_OK;
}

size_t Communicator::bytesOf(const Job &job) {
  return countOf(job.arrays) *
         dtypeSize(job.reduction.inBFloat16 ? MPC_RT_BFLOAT16 : job.reduction.dtype);
}

void Communicator::finish(const Job &job) {
  const bool isItself = size() == 1 && job.reduction.kind != MPC_RT_REDUCTION_SUM_BEFORE;
  if (failure != MPC_RT_OK || isItself)
    return;
  const int64_t begin = events.isOpen() ? EventLog::now() : 0;
  const mpc_rt_status_t status = guard("all_reduce", [&] { return reduce(job); });
  if (begin)
    events.add(job.reduction.share == Share::gathered ? EventLog::Kind::gather
                                                      : EventLog::Kind::message,
               begin, bytesOf(job));
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
  return wait(start(reduction, {{data, count}}));
}

mpc_rt_status_t Communicator::broadcast(void *data, size_t bytes, unsigned root) {
  // Reductions that were started come first: messages between two ranks have one order.
  if (auto status = wait(started))
    return status;
  return rt::broadcast(*transport, data, bytes, root);
}

} // namespace mpc::rt
