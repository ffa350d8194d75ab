// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/training/rank_job.h"

#include <algorithm>
#include <chrono>
#include <thread>

namespace mpc::training {

using data::Failure;
using data::Result;
using data::Status;

namespace {
Failure rankFailure() { return Failure(std::string("ranks: ") + mpc_rt_last_error()); }
} // namespace

Result<std::unique_ptr<RankJob>> RankJob::open() {
  std::unique_ptr<RankJob> job(new RankJob);
  if (mpc_rt_communicator_create(nullptr, &job->communicator_))
    return rankFailure();
  job->rank_ = mpc_rt_communicator_rank(job->communicator_);
  job->size_ = mpc_rt_communicator_size(job->communicator_);
  return job;
}

RankJob::~RankJob() { mpc_rt_communicator_release(communicator_); }

Status RankJob::join(Session &session, uint32_t parts) {
  session.setPlace({rank_, size_});
  const mpc_rt_status_t status =
      parts ? mpc_rt_context_set_parts(session.context(), communicator_, parts)
            : mpc_rt_context_set_communicator(session.context(), communicator_);
  return status ? Status(session.runtimeFailure(status)) : Status();
}

Status RankJob::compare(const std::vector<std::pair<std::string, uint64_t>> &digests) {
  Failure failure;
  for (const auto &[name, own] : digests) {
    uint64_t first = own;
    if (mpc_rt_communicator_broadcast(communicator_, &first, sizeof first, 0))
      return rankFailure();
    if (first != own)
      failure.append(Failure("rank " + std::to_string(rank_) + ": " + name +
                             " are not those of rank 0; start every rank with the same files and "
                             "options"));
  }
  return failure.empty() ? Status() : Status(failure);
}

bool RankJob::agree(const Status &own, Status &told) {
  told = own;
  if (size_ == 1)
    return bool(own);
  int32_t firstFailed = !own;
  if (mpc_rt_communicator_broadcast(communicator_, &firstFailed, sizeof firstFailed, 0)) {
    told = rankFailure();
    return false;
  }
  Result<bool> failed = anyRank(!own);
  if (!failed)
    told = failed.failure();
  else if (!isFirst() && firstFailed)
    told = Status();
  return failed && !*failed;
}

Result<bool> RankJob::anyRank(bool own) {
  int32_t any = own;
  if (size_ > 1 &&
      mpc_rt_communicator_all_reduce(communicator_, MPC_RT_INT32, MPC_RT_REDUCTION_MAX, &any, 1))
    return rankFailure();
  return any != 0;
}

Result<std::vector<std::string>> RankJob::gather(const std::string &own) {
  std::vector<std::string> all(size_);
  for (uint32_t root = 0; root < size_; ++root) {
    std::string text = root == rank_ ? own : "";
    uint64_t bytes = text.size();
    if (mpc_rt_communicator_broadcast(communicator_, &bytes, sizeof bytes, root))
      return rankFailure();
    text.resize(bytes);
    if (bytes && mpc_rt_communicator_broadcast(communicator_, text.data(), bytes, root))
      return rankFailure();
    if (root == rank_ || isFirst())
      all[root] = std::move(text);
  }
  return all;
}

void RankJob::record() { mpc_rt_communicator_record(communicator_); }

std::string RankJob::events() const { return mpc_rt_communicator_events(communicator_); }

void RankJob::end(int code) {
  // The first rank tells what all have found: its message must not be lost with its process.
  if (!isFirst())
    std::this_thread::sleep_for(std::chrono::seconds(1));
  mpc_rt_communicator_abort(communicator_, code);
}

bool hasParts(const Session &session) {
  const mpc_rt_executable_t &tables = session.executable();
  return std::any_of(tables.variables, tables.variables + tables.variable_count,
                     [](const mpc_rt_variable_info_t &variable) {
                       return (variable.flags & MPC_RT_VARIABLE_IN_PARTS) != 0;
                     });
}

std::vector<int64_t> rowsOfRank(const std::vector<int64_t> &rows, unsigned rank, unsigned size) {
  int64_t first = 0, count = 0;
  mpc_rt_part_rows(static_cast<int64_t>(rows.size()), rank, size, &first, &count);
  return {rows.begin() + first, rows.begin() + first + count};
}

} // namespace mpc::training
