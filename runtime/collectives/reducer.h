// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A run reduces its arrays over the ranks of a job, or over the parts of a batch on all of them.
#ifndef MPC_RUNTIME_COLLECTIVES_REDUCER_H
#define MPC_RUNTIME_COLLECTIVES_REDUCER_H

#include "runtime/collectives/all_reduce.h"

#include <cstdint>
#include <vector>

namespace mpc::rt {

class Reducer {
public:
  virtual ~Reducer() = default;
  // Begins a reduction of the arrays, which go together and belong to the reducer until wait() of
  // the number that this returns. All ranks, or parts, start the same ones in the same order.
  virtual uint64_t start(Reduction reduction, std::vector<RankArray> arrays) = 0;
  // Returns when that reduction and all before it are over.
  virtual mpc_rt_status_t wait(uint64_t started) = 0;
};

} // namespace mpc::rt

#endif
