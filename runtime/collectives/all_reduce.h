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

#include <vector>

namespace mpc::rt {

// These ranks have the reduction afterwards.
enum class Share {
  whole,   // all ranks, all of it
  ownPart, // each rank the part that it owns (rank_parts.h)
  gathered // nothing is reduced: the parts of all ranks go to all of them, with any dtype
};

struct Reduction {
  mpc_rt_dtype_t dtype;
  mpc_rt_reduction_t kind;
  Share share = Share::whole;
  // A part of a batch needs it only for results that it has.
  bool isForResults = false;
  // A sum of float32 whose operands, and the sum itself, are rounded to bfloat16 at every node of
  // the tree, and added in float32: two bytes of each number go between ranks, and who computes
  // which parts still changes no bit.
  bool inBFloat16 = false;
};

// Elements somewhere in memory.
struct RankArray {
  void *data;
  size_t count;
  // The array of the first part of a batch has the sum over those of this rank already.
  bool isSummed = false;
};
// The elements of all of them.
size_t countOf(const std::vector<RankArray> &arrays);

// `data` of each rank, `count` elements, becomes the reduction of all of them. `scratch` has room
// for allReduceScratch(...) bytes.
mpc_rt_status_t allReduce(Transport &transport, Reduction reduction, void *data, size_t count,
                          void *scratch);
size_t allReduceScratch(const Transport &transport, Reduction reduction, size_t count);

// MPC_RT_REDUCTION_SUM_BEFORE, of a few elements.
mpc_rt_status_t sumBefore(Transport &transport, mpc_rt_dtype_t dtype, void *data, size_t count);

// The bytes of rank `root` go to all others.
mpc_rt_status_t broadcast(Transport &transport, void *data, size_t bytes, unsigned root);

} // namespace mpc::rt

#endif
