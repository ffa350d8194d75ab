// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The reductions over ranks of one context that are under way.
#ifndef MPC_RUNTIME_EXECUTION_RANK_REDUCTIONS_H
#define MPC_RUNTIME_EXECUTION_RANK_REDUCTIONS_H

#include "mpc-rt/services.h"
#include "runtime/collectives/communicator.h"

namespace mpc::rt {

class RankReductions {
public:
  explicit RankReductions(Communicator &communicator) : communicator(communicator) {}

  // The array joins its bucket; the last one of a bucket sends it.
  mpc_rt_status_t start(const mpc_rt_all_reduce_t &descriptor, void *data);
  mpc_rt_status_t wait(uint32_t bucket);

private:
  Communicator &communicator;
  std::vector<RankArray> open;   // of the bucket that is being filled
  std::vector<uint64_t> numbers; // what start() of the communicator returned, by bucket
};

} // namespace mpc::rt

#endif
