// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The reductions of one context that are under way: over ranks, or over parts of a batch.
#ifndef MPC_RUNTIME_EXECUTION_RANK_REDUCTIONS_H
#define MPC_RUNTIME_EXECUTION_RANK_REDUCTIONS_H

#include "mpc-rt/services.h"
#include "runtime/collectives/reducer.h"

namespace mpc::rt {

class RankReductions {
public:
  // `hasResults`: somebody reads what the entry gives.
  explicit RankReductions(Reducer &reducer, bool hasResults = true)
      : reducer(reducer), hasResults(hasResults) {}

  // The context has no rows of its own: it computes with some, and adds nothing to any reduction.
  void mute(bool muted) { isMuted = muted; }

  // The array joins its bucket; the last one of a bucket sends it.
  mpc_rt_status_t start(const mpc_rt_all_reduce_t &descriptor, void *data);
  mpc_rt_status_t wait(uint32_t bucket);

  Reducer &reducer;
  const bool hasResults;

private:
  std::vector<RankArray> open, openToParts; // of the bucket that is being filled
  std::vector<uint64_t> numbers;            // what start() of the reducer returned, by bucket
  bool areForResults = true;                // all of those
  bool isMuted = false;
};

} // namespace mpc::rt

#endif
