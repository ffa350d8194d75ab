// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Halves of halves of an array, and the messages by which ranks reduce and gather them. The ranks
// whose number is a power of two, the core, make the tree; each other one gives its data to one of
// them first, and gets the result from it.
#ifndef MPC_RUNTIME_COLLECTIVES_RANK_TREE_H
#define MPC_RUNTIME_COLLECTIVES_RANK_TREE_H

#include "runtime/collectives/all_reduce.h"

#include <vector>

namespace mpc::rt {

// The largest power of two that is not above `ranks`.
unsigned coreOf(unsigned ranks);

// Which of the parts in order is that of a rank of the core: at distance 1, 2, ... a rank goes on
// with the upper half of what it has where that bit of its number is set.
unsigned placeOf(unsigned rank, unsigned core);

// Where the parts of the core begin in an array, in order, and where the last one ends. They begin
// at multiples of `unit` elements.
std::vector<size_t> partStarts(unsigned core, size_t count, size_t unit);

// Before and after what the core does with `bytes` bytes.
mpc_rt_status_t fold(Transport &transport, Reduction reduction, void *data, size_t count,
                     void *scratch, unsigned core);
mpc_rt_status_t unfold(Transport &transport, void *data, size_t bytes, unsigned core);

// For ranks of the core: the own part of `starts` becomes the reduction; the others hold sums of
// some ranks. `scratch` has room for half of the data.
mpc_rt_status_t reduceByHalving(Transport &transport, Reduction reduction, void *data,
                                const std::vector<size_t> &starts, void *scratch);
// For ranks of the core: the parts of all of them come together.
mpc_rt_status_t gatherByDoubling(Transport &transport, void *data,
                                 const std::vector<size_t> &starts, size_t elementBytes);

} // namespace mpc::rt

#endif
