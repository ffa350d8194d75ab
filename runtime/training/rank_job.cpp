// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "training/rank_job.h"

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

Status RankJob::join(Session &session) {
  if (size_ == 1)
    return Status();
  if (!(session.executable().flags & MPC_RT_EXECUTABLE_DISTRIBUTED))
    return Failure(session.path() + ": was compiled for one rank, and " + std::to_string(size_) +
                   " were started; compile it with --distributed");
  if (mpc_rt_status_t status = mpc_rt_context_set_communicator(session.context(), communicator_))
    return session.runtimeFailure(status);
  session.setPlace({rank_, size_});
  return Status();
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

void RankJob::end(int code) { mpc_rt_communicator_abort(communicator_, code); }

std::vector<int64_t> rowsOfRank(const std::vector<int64_t> &rows, unsigned rank, unsigned size) {
  const size_t begin = rows.size() * rank / size, end = rows.size() * (rank + 1) / size;
  return {rows.begin() + static_cast<ptrdiff_t>(begin), rows.begin() + static_cast<ptrdiff_t>(end)};
}

} // namespace mpc::training
