// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A run reduces its arrays over the ranks of a job, or over the parts of a batch on all of them.
#ifndef MPC_RUNTIME_COLLECTIVES_REDUCER_H
#define MPC_RUNTIME_COLLECTIVES_REDUCER_H

#include "runtime/collectives/all_reduce.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace mpc::rt {

class PartMeeting;

class Reducer {
public:
  virtual ~Reducer() = default;
  // Begins a reduction of the arrays, which go together and belong to the reducer until wait() of
  // the number that this returns. All ranks, or parts, start the same ones in the same order.
  virtual uint64_t start(Reduction reduction, std::vector<RankArray> arrays) = 0;
  // Returns when that reduction and all before it are over.
  virtual mpc_rt_status_t wait(uint64_t started) = 0;
  // Where the parts of a batch work together on sums that the first one alone needs, and which part
  // this is; null where there are none.
  virtual PartMeeting *meeting() { return nullptr; }
  virtual unsigned part() const { return 0; }

  // Expires with the reducer, which ends what is under way before it goes.
  std::weak_ptr<const void> lifetime() const { return life; }

private:
  const std::shared_ptr<const void> life = std::make_shared<char>();
};

} // namespace mpc::rt

#endif
