// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RankJob: the ranks that train one model together (mpirun -np N mpc-run train …), or the one.
#ifndef MPC_RUNTIME_TRAINING_RANK_JOB_H
#define MPC_RUNTIME_TRAINING_RANK_JOB_H

#include "mpc-rt/collectives.h"
#include "runtime/training/session.h"

#include <utility>

namespace mpc::training {

/// Ranks do the same steps; each takes its part of the rows of every batch. What they compute, and
/// what they write, is the same: rank 0 alone writes it.
class RankJob {
public:
  /// One rank unless a launcher started the process, or MPC_COLLECTIVES says otherwise.
  static data::Result<std::unique_ptr<RankJob>> open();
  ~RankJob();
  RankJob(const RankJob &) = delete;
  RankJob &operator=(const RankJob &) = delete;

  unsigned rank() const { return rank_; }
  unsigned size() const { return size_; }
  bool isFirst() const { return rank_ == 0; }

  /// The session's entries reduce over the ranks from now on, with `parts` over so many parts of
  /// the batch. A model that was compiled without --distributed is a failure where there are
  /// several.
  data::Status join(Session &session, uint32_t parts);
  /// Whether all ranks may go on. Where one has failed, `told` is what this one has to tell of it:
  /// nothing where another rank has failed, nor what rank 0 tells as well. All ranks call it.
  bool agree(const data::Status &own, data::Status &told);
  /// A failure on a rank whose digests are not those of rank 0, by their names: ranks that were
  /// given different files or options. All ranks call it with the same names.
  data::Status compare(const std::vector<std::pair<std::string, uint64_t>> &digests);
  /// Whether it is so on some rank. All ranks call it.
  data::Result<bool> anyRank(bool own);
  /// The text of every rank, on the first one; "" of the others elsewhere. All ranks call it.
  data::Result<std::vector<std::string>> gather(const std::string &own);
  /// Messages and waits are recorded from now on; a line for each.
  void record();
  std::string events() const;
  /// Ends all ranks, after a failure of this one. Does nothing where there is one.
  void end(int code);

private:
  RankJob() = default;
  mpc_rt_communicator_t *communicator_ = nullptr;
  unsigned rank_ = 0, size_ = 1;
};

/// Whether several ranks have parts of some variables (mpcc --shard=optimizer).
bool hasParts(const Session &session);

/// The rows of a batch that one of several ranks takes: its part of them, in their order. A rank
/// has none where there are fewer rows than ranks.
std::vector<int64_t> rowsOfRank(const std::vector<int64_t> &rows, unsigned rank, unsigned size);

} // namespace mpc::training
#endif
