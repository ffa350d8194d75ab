// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The reductions of one context that are under way: over ranks, or over parts of a batch.
#ifndef MPC_RUNTIME_EXECUTION_RANK_REDUCTIONS_H
#define MPC_RUNTIME_EXECUTION_RANK_REDUCTIONS_H

#include "mpc-rt/executable.h"
#include "mpc-rt/services.h"
#include "runtime/base/fork_watch.h"
#include "runtime/collectives/reducer.h"
#include "runtime/execution/staged_arrays.h"

namespace mpc::rt {

class RankReductions {
public:
  // `hasResults`: somebody reads what the entry gives. Arrays are in `memory`, that of the driver.
  RankReductions(Reducer &reducer, DeviceMemory &memory, bool hasResults = true);
  // No gather is under way any more, unless a fork left the threads that do it in another process.
  ~RankReductions();

  // The context has no rows of its own: it computes with some, and adds nothing to any reduction.
  void mute(bool muted) { isMuted = muted; }
  bool isMute() const { return isMuted; }
  // The parts of the batch have summed what will come to start() at this address.
  void keepSum(const void *data) { sums.push_back(data); }

  // The array joins its bucket; the last one of a bucket sends it.
  mpc_rt_status_t start(const mpc_rt_all_reduce_t &descriptor, void *data);
  mpc_rt_status_t wait(uint32_t bucket);
  // A run of the entry begins. It may find the gathers that its last run has left under way; one of
  // another entry waits for them first.
  mpc_rt_status_t enter(const mpc_rt_entry_info_t &entry);
  // Waits for all gathers.
  mpc_rt_status_t settle();

  Reducer &reducer;
  const bool hasResults;

private:
  mpc_rt_status_t waitFor(uint64_t number);
  void send(const mpc_rt_all_reduce_t &descriptor, std::vector<RankArray> &arrays, Share share);

  const std::unique_ptr<StagedArrays> staged; // null: arrays are where the host computes

  std::vector<RankArray> open, openToParts; // of the bucket that is being filled
  std::vector<uint64_t> numbers;            // what start() of the reducer returned, by bucket
  uint64_t lastGather = 0, waited = 0;      // the largest of these numbers, and of those waited for
  const mpc_rt_entry_info_t *lastEntry = nullptr;
  const std::weak_ptr<const void> reducerLives;
  const unsigned madeAfterForks = forksSeen();
  std::vector<const void *> sums; // of parts, that no reduction has come for
  bool areForResults = true;      // all of those
  bool isMuted = false;
};

} // namespace mpc::rt

#endif
