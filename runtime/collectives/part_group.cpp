// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/collectives/part_group.h"

#include "runtime/base/dtype.h"
#include "runtime/base/status.h"
#include "runtime/collectives/combine.h"

#include <algorithm>
#include <cstring>

namespace mpc::rt {
namespace {

// So many elements of each part are in the caches together.
constexpr size_t elementsAtOnce = 4096;

size_t countOf(const std::vector<RankArray> &arrays) {
  size_t count = 0;
  for (const RankArray &array : arrays)
    count += array.count;
  return count;
}

} // namespace

PartGroup::PartGroup(Communicator &communicator, unsigned parts)
    : communicator(communicator), parts(parts) {
  for (unsigned part = 0; part != parts; ++part)
    reducers.push_back(std::make_unique<Part>(*this, part));
}

uint64_t PartGroup::start(unsigned part, Reduction reduction, std::vector<RankArray> arrays) {
  std::unique_lock<std::mutex> lock(mutex);
  const uint64_t number = ++reducers[part]->started;
  if (failure != MPC_RT_OK)
    return number;
  if (number > forgotten + jobs.size()) {
    auto made = std::make_unique<Job>();
    made->reduction = reduction;
    made->arrays.resize(parts);
    jobs.push_back(std::move(made));
  }
  Job &job = jobOf(number);
  // Each part needs all of the result.
  job.isMixed |= reduction.dtype != job.reduction.dtype || reduction.kind != job.reduction.kind ||
                 reduction.share != Share::whole;
  job.arrays[part] = std::move(arrays);
  if (++job.started != parts)
    return number;
  if (!spare.empty()) {
    job.result = std::move(spare.back());
    spare.pop_back();
  }
  // Who comes last has the work, while the others compute on.
  lock.unlock();
  const mpc_rt_status_t status = guard("parts of a batch", [&] { return combineParts(job); });
  if (status != MPC_RT_OK) {
    stop(status, mpc_rt_last_error());
    return number;
  }
  lock.lock();
  job.isCombined = true;
  sendCombined();
  return number;
}

// Ranks have to send in one order, whichever of two jobs a rank has combined first.
void PartGroup::sendCombined() {
  while (sent != forgotten + jobs.size() && jobOf(sent + 1).isCombined) {
    Job &job = jobOf(++sent);
    job.sent = communicator.start(job.reduction, {{job.result.data(), countOf(job.arrays[0])}});
    job.isSent = true;
  }
  changed.notify_all();
}

// The tree over the parts, in place: each array belongs to the group until its part has waited.
mpc_rt_status_t PartGroup::combineParts(Job &job) {
  const Reduction reduction = job.reduction;
  const size_t element = dtypeSize(reduction.dtype), count = countOf(job.arrays[0]);
  auto haveOneCount = [](const RankArray &a, const RankArray &b) { return a.count == b.count; };
  for (const std::vector<RankArray> &arrays : job.arrays)
    if (job.isMixed || !std::equal(arrays.begin(), arrays.end(), job.arrays[0].begin(),
                                   job.arrays[0].end(), haveOneCount))
      return fail(MPC_RT_INTERNAL,
                  "parts of a batch reduce different arrays, which is a defect; please report it");
  if (job.result.size() < count * element)
    job.result.resize(count * element);
  if (reduction.kind == MPC_RT_REDUCTION_SUM_BEFORE)
    sumPartsBefore(job);
  char *to = job.result.data();
  for (size_t array = 0; array != job.arrays[0].size(); ++array)
    for (size_t begin = 0; begin < job.arrays[0][array].count; begin += elementsAtOnce) {
      const size_t many = std::min(elementsAtOnce, job.arrays[0][array].count - begin);
      auto at = [&](unsigned part) {
        return static_cast<char *>(job.arrays[part][array].data) + begin * element;
      };
      for (unsigned distance = 1; distance != parts; distance *= 2)
        for (unsigned part = 0; part != parts; part += 2 * distance)
          combine(reduction.dtype, reduction.kind, at(part), at(part + distance), many);
      to = std::copy_n(at(0), many * element, to);
    }
  return MPC_RT_OK;
}

// There are a few elements only.
void PartGroup::sumPartsBefore(Job &job) {
  const size_t element = dtypeSize(job.reduction.dtype), bytes = countOf(job.arrays[0]) * element;
  job.before.assign(parts * bytes, 0);
  for (unsigned part = 1; part != parts; ++part) {
    char *to = job.before.data() + part * bytes;
    std::memcpy(to, to - bytes, bytes);
    for (const RankArray &array : job.arrays[part - 1]) {
      combine(job.reduction.dtype, MPC_RT_REDUCTION_SUM, to, array.data, array.count);
      to += array.count * element;
    }
  }
}

mpc_rt_status_t PartGroup::wait(unsigned index, uint64_t number) {
  Part &part = *reducers[index];
  std::unique_lock<std::mutex> lock(mutex);
  while (part.taken < number) {
    if (failure != MPC_RT_OK)
      return report();
    Job &job = jobOf(part.taken + 1);
    changed.wait(lock, [&] { return failure != MPC_RT_OK || job.isSent; });
    if (auto status = index == 0 ? waitForRanks(lock, job) : MPC_RT_OK)
      return status;
    changed.wait(lock, [&] { return failure != MPC_RT_OK || job.isReduced; });
    if (failure != MPC_RT_OK)
      return report();
    lock.unlock();
    take(part, job);
    lock.lock();
    ++part.taken;
    ++job.taken;
    forgetTaken();
  }
  return MPC_RT_OK;
}

mpc_rt_status_t PartGroup::waitForRanks(std::unique_lock<std::mutex> &lock, Job &job) {
  if (failure != MPC_RT_OK)
    return report();
  const uint64_t number = job.sent;
  lock.unlock();
  const mpc_rt_status_t status = communicator.wait(number);
  if (status != MPC_RT_OK)
    stop(status, mpc_rt_last_error());
  lock.lock();
  job.isReduced = true;
  changed.notify_all();
  return status;
}

void PartGroup::take(const Part &part, const Job &job) {
  if (hasOneResult && job.reduction.isForResults && part.index != 0)
    return; // it goes on with what its array held when the parts were combined
  const size_t element = dtypeSize(job.reduction.dtype);
  const std::vector<RankArray> &arrays = job.arrays[part.index];
  const char *from = job.result.data();
  size_t before = part.index * countOf(arrays) * element;
  for (const RankArray &array : arrays) {
    const size_t bytes = array.count * element;
    std::copy_n(from, bytes, static_cast<char *>(array.data));
    if (job.reduction.kind == MPC_RT_REDUCTION_SUM_BEFORE)
      combine(job.reduction.dtype, MPC_RT_REDUCTION_SUM, array.data, job.before.data() + before,
              array.count);
    from += bytes;
    before += bytes;
  }
}

void PartGroup::forgetTaken() {
  while (!jobs.empty() && jobs.front()->taken == parts) {
    spare.push_back(std::move(jobs.front()->result));
    jobs.pop_front();
    ++forgotten;
  }
}

void PartGroup::stop(mpc_rt_status_t status, const char *text) {
  std::lock_guard<std::mutex> lock(mutex);
  if (failure == MPC_RT_OK) {
    failure = status;
    problem = text;
  }
  changed.notify_all();
}

mpc_rt_status_t PartGroup::report() {
  return fail(mpc_rt_status_code_t(failure), "%s", problem.c_str());
}

void PartGroup::settle() {
  std::unique_lock<std::mutex> lock(mutex);
  for (size_t i = 0; i != jobs.size(); ++i)
    if (const Job &job = *jobs[i]; job.isSent && !job.isReduced) {
      lock.unlock();
      (void)communicator.wait(job.sent); // the failure before this one is the cause
      lock.lock();
    }
}

void PartGroup::restart() {
  std::lock_guard<std::mutex> lock(mutex);
  const bool isLost = failure != MPC_RT_OK && communicator.size() > 1;
  if (isLost)
    return;
  failure = MPC_RT_OK;
  jobs.clear();
  forgotten = sent = 0;
  for (auto &part : reducers)
    part->started = part->taken = 0;
}

} // namespace mpc::rt
