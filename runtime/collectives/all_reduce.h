// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reductions over the ranks of a job. The order of a sum depends on the number of ranks alone, and
// all ranks get the same bytes: of a power of two it is the binary tree over the ranks in order,
// ((0 + 1) + (2 + 3)) + ..., whatever the size of the data. A rank that sums its own parts of a
// batch by such a tree therefore continues the one tree over all parts.
//
// Small data goes by recursive doubling (log2(ranks) messages); large data by recursive halving and
// doubling (each rank sends its bytes twice), after Thakur, Rabenseifner and Gropp, "Optimization
// of Collective Communication Operations in MPICH", 2005. Both make the same tree.
#ifndef MPC_RUNTIME_COLLECTIVES_ALL_REDUCE_H
#define MPC_RUNTIME_COLLECTIVES_ALL_REDUCE_H

#include "mpc-rt/collectives.h"
#include "mpc-rt/dtype.h"
#include "runtime/collectives/transport.h"

namespace mpc::rt {

struct Reduction {
  mpc_rt_dtype_t dtype;
  mpc_rt_reduction_t kind;
};

// `data` of each rank, `count` elements, becomes the reduction of all of them. `scratch` has room
// for allReduceScratch(...) bytes.
mpc_rt_status_t allReduce(Transport &transport, Reduction reduction, void *data, size_t count,
                          void *scratch);
size_t allReduceScratch(const Transport &transport, Reduction reduction, size_t count);

// MPC_RT_REDUCTION_SUM_BEFORE, of a few elements.
mpc_rt_status_t sumBefore(Transport &transport, mpc_rt_dtype_t dtype, void *data, size_t count);

// The elements of the whole that a rank owns after a reduce-scatter: of a number of ranks that is a
// power of two.
struct Segment {
  size_t begin, end;
};
Segment segmentOf(const Transport &transport, size_t count);

// The first half of an allReduce: only the rank's own segment holds the reduction afterwards.
mpc_rt_status_t reduceScatter(Transport &transport, Reduction reduction, void *data, size_t count,
                              void *scratch);
// The second half: every rank's segment goes to all ranks. Elements of `elementBytes`.
mpc_rt_status_t allGather(Transport &transport, void *data, size_t count, size_t elementBytes);

// The bytes of rank `root` go to all others.
mpc_rt_status_t broadcast(Transport &transport, void *data, size_t bytes, unsigned root);

} // namespace mpc::rt

#endif
