// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arrays of which each rank has a part: the sums of gradients go to the rank that updates a part of
// a variable, and updated parts come together again. Which part is a rank's own follows from the
// number of elements and of ranks alone. Ranks beyond the largest power of two have none.
#ifndef MPC_RUNTIME_COLLECTIVES_RANK_PARTS_H
#define MPC_RUNTIME_COLLECTIVES_RANK_PARTS_H

#include "runtime/collectives/all_reduce.h"

#include <vector>

namespace mpc::rt {

// Elements from `begin` to `end`.
struct RankPart {
  size_t begin, end;
};

// The part of an array that a rank of `size` has, of `count` elements. Parts begin at multiples of
// 64 elements, so that they are aligned like the whole.
RankPart ownPart(unsigned rank, unsigned size, size_t count);

// Memory that is kept from one call to the next.
struct PartMemory {
  std::vector<char> packed, scratch;
};

// The own part of each array becomes its reduction over all ranks, with the bytes of allReduce();
// the rest of it holds sums of some ranks, in which an infinity or a NaN is one of the whole sum.
mpc_rt_status_t reduceToParts(Transport &transport, Reduction reduction,
                              const std::vector<RankArray> &arrays, PartMemory &memory);
// Every rank gets the parts that the others own. Elements have this dtype.
mpc_rt_status_t gatherParts(Transport &transport, size_t elementBytes,
                            const std::vector<RankArray> &arrays, PartMemory &memory);

} // namespace mpc::rt

#endif
