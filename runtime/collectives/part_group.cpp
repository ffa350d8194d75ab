// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/collectives/part_group.h"

#include "runtime/base/dtype.h"
#include "runtime/base/status.h"
#include "runtime/collectives/combine.h"

#include <algorithm>
#include <cstring>

namespace mpc::rt {

PartGroup::PartGroup(Communicator &communicator, unsigned parts)
    : communicator(communicator), parts(parts), meeting(parts) {
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
                 reduction.inBFloat16 != job.reduction.inBFloat16 ||
                 reduction.share != Share::whole;
  job.arrays[part] = std::move(arrays);
  if (++job.started != parts)
    return number;
  job.staysWithFirst = hasOneResult && job.reduction.isForResults;
  if (!job.staysWithFirst)
    job.result = takeSpare(countOf(job.arrays[0]) * dtypeSize(reduction.dtype));
  lock.unlock();
  const mpc_rt_status_t status = guard("parts of a batch", [&] { return plantTree(job); });
  if (status != MPC_RT_OK) {
    stop(status, mpc_rt_last_error());
    return number;
  }
  lock.lock();
  job.isReady = true;
  changed.notify_all();
  lock.unlock();
  // The last part begins, while the others compute on; those that wait help.
  combineParts(job);
  return number;
}

void PartGroup::combineParts(Job &job) {
  if (!job.tree->work())
    return;
  std::lock_guard<std::mutex> lock(mutex);
  job.isCombined = true;
  sendCombined();
}

// The smallest that is large enough, or none: steps want the same sizes again, and to grow a
// smaller one would be new memory of the system's for every step.
std::vector<char> PartGroup::takeSpare(size_t bytes) {
  auto best = spare.end();
  for (auto it = spare.begin(); it != spare.end(); ++it)
    if (it->size() >= bytes && (best == spare.end() || it->size() < best->size()))
      best = it;
  if (best == spare.end())
    return {};
  std::vector<char> taken = std::move(*best);
  spare.erase(best);
  return taken;
}

// Ranks have to send in one order, whichever of two jobs a rank has combined first.
void PartGroup::sendCombined() {
  while (sent != forgotten + jobs.size() && jobOf(sent + 1).isCombined) {
    Job &job = jobOf(++sent);
    job.sent = communicator.start(
        job.reduction, job.staysWithFirst
                           ? job.arrays[0]
                           : std::vector<RankArray>{{job.result.data(), countOf(job.arrays[0])}});
    job.isSent = true;
  }
  changed.notify_all();
}

// Each array belongs to the group until its part has waited.
mpc_rt_status_t PartGroup::plantTree(Job &job) {
  const Reduction reduction = job.reduction;
  const size_t element = dtypeSize(reduction.dtype);
  auto haveOneCount = [](const RankArray &a, const RankArray &b) {
    return a.count == b.count && a.isSummed == b.isSummed;
  };
  for (const std::vector<RankArray> &arrays : job.arrays)
    if (job.isMixed || !std::equal(arrays.begin(), arrays.end(), job.arrays[0].begin(),
                                   job.arrays[0].end(), haveOneCount))
      return fail(MPC_RT_INTERNAL,
                  "parts of a batch reduce different arrays, which is a defect; please report it");
  const size_t bytes = countOf(job.arrays[0]) * element;
  if (!job.staysWithFirst && job.result.size() < bytes)
    job.result = std::vector<char>(bytes);
  if (reduction.kind == MPC_RT_REDUCTION_SUM_BEFORE)
    sumPartsBefore(job);
  // One part of all has nothing to add, and stays what it is.
  const bool rounds = reduction.inBFloat16 && parts * communicator.size() > 1;
  if (rounds && communicator.log().isOpen())
    recordRounding(job);
  job.tree = std::make_unique<PartTree>(reduction, rounds, job.arrays,
                                        job.staysWithFirst ? nullptr : job.result.data());
  return MPC_RT_OK;
}

void PartGroup::recordRounding(const Job &job) {
  double error = 0;
  for (const std::vector<RankArray> &arrays : job.arrays)
    for (const RankArray &array : arrays)
      error = std::max(error, errorOfBFloat16(static_cast<const float *>(array.data), array.count));
  if (error > 0)
    communicator.log().addRounding(error);
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
    waitForParts(lock, job);
    if (auto status = index == 0 ? waitForRanks(lock, job) : MPC_RT_OK)
      return status;
    // The others need nothing of what stays with the first part.
    changed.wait(lock, [&] { return failure != MPC_RT_OK || job.isReduced || job.staysWithFirst; });
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

// Returns when the job is on its way to other ranks.
void PartGroup::waitForParts(std::unique_lock<std::mutex> &lock, Job &job) {
  while (failure == MPC_RT_OK && !job.isSent) {
    if (job.isReady && job.tree->hasWork()) {
      lock.unlock();
      combineParts(job);
      lock.lock();
      continue;
    }
    changed.wait(lock, [&] {
      return failure != MPC_RT_OK || job.isSent || (job.isReady && job.tree->hasWork());
    });
  }
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
  if (job.staysWithFirst)
    return; // the others go on with what their arrays held when the parts were combined
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
    if (!jobs.front()->result.empty())
      spare.push_back(std::move(jobs.front()->result));
    jobs.pop_front();
    ++forgotten;
  }
}

void PartGroup::stop(mpc_rt_status_t status, const char *text) {
  meeting.stop(status, text);
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
  meeting.restart();
  jobs.clear();
  forgotten = sent = 0;
  for (auto &part : reducers)
    part->started = part->taken = 0;
}

} // namespace mpc::rt
