// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Variables of which each rank has a part (mpcc --shard=optimizer): what an optimizer keeps, and
// float32 weights that layers read in 16 bits. They have the addresses of the whole; the memory of
// the elements that other ranks own goes back to the system with the first update.
#ifndef MPC_RUNTIME_EXECUTION_VARIABLE_PARTS_H
#define MPC_RUNTIME_EXECUTION_VARIABLE_PARTS_H

#include "runtime/collectives/communicator.h"

#include <cstdint>
#include <vector>

struct mpc_rt_context_t;

namespace mpc::rt {

class VariableParts {
public:
  VariableParts(mpc_rt_context_t &context, Communicator &communicator);

  RankPart ownPart(size_t count) const;
  // Whether the rank has its part of the variable alone.
  bool isPart(uint32_t variable) const { return arePart[variable]; }
  // All of it has been written.
  void becameWhole(uint32_t variable) { arePart[variable] = false; }
  // Before an update, after which only own parts are right.
  void keepOwn();
  // All ranks call it: variables become whole, on this rank until the next update or not at all.
  mpc_rt_status_t gather(bool keeps);
  // Other ranks keep these for this one.
  uint64_t bytesElsewhere() const;

private:
  void drop(uint32_t variable);

  mpc_rt_context_t &context;
  Communicator &communicator;
  std::vector<uint32_t> shared; // the variables that are in parts
  std::vector<bool> arePart;    // by variable
};

} // namespace mpc::rt

#endif
