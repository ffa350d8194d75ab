// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The memory that the kernels of contractions share: packed copies of variables, and buffers for
// sums and for operands as a kernel takes them. A buffer holds nothing from one call to the next.
#ifndef MPC_RUNTIME_DRIVERS_CPU_CONTRACT_CONTRACTION_MEMORY_H
#define MPC_RUNTIME_DRIVERS_CPU_CONTRACT_CONTRACTION_MEMORY_H

#include "runtime/base/memory.h"
#include "runtime/base/vector_kernels.h"
#include "runtime/drivers/contraction.h"
#include "runtime/drivers/cpu/contract/integer_weights.h"
#include "runtime/drivers/cpu/contract/packed_weights.h"
#include "runtime/drivers/cpu/contract/shared_weights.h"
#include "runtime/drivers/cpu/kernels/row_passes.h"
#include "runtime/threads/thread_team.h"

#include <map>
#include <tuple>

namespace mpc::rt {

class ContractionMemory {
public:
  ContractionMemory(ThreadTeam &team, int isa, bool ownKernels)
      : team(team), vectors(vectorKernels(isa)), integers(team, isa, state, ownKernels) {}
  ContractionMemory(const ContractionMemory &) = delete;

  // The packed copy of `variable` for a layout (or kernel), as it lies in memory.
  PackedWeights &entryOf(int32_t variable, const Contraction &shape, const void *layout) {
    return weights[{variable, shape.transposeRhs, shape.k, shape.n, layout}];
  }
  // The copy, if there is one. Otherwise null: `keep` then says whether the copy that the caller
  // makes is worth keeping.
  const void *findPacked(PackedWeights &entry, bool &keep);
  // Calls pack(to) on memory for `bytes`, the entry's if the copy is to be kept.
  template <typename Pack>
  const void *packInto(PackedWeights *entry, bool keep, uint64_t bytes, const Pack &pack);
  // Copies of a variable for kernels that were slower are for nobody.
  void dropPacked(int32_t variable);

  void reserveBias(const Contraction &shape);
  // The bias in float32.
  const float *prepareBias(const Contraction &shape, const void *bias);
  void reserveRounded(const Contraction &shape);
  // The lhs in the dtype that is multiplied, where that is not how it lies in memory.
  const void *roundLhs(const Contraction &shape, const void *lhs);
  // `out`, or memory for a result that its kernel consumes.
  void *resultMemory(const Contraction &shape, void *out);
  void widen(mpc_rt_dtype_t dtype, const void *from, float *to, uint64_t count) {
    widenElements(team, vectors, dtype, from, to, static_cast<int64_t>(count));
  }
  uint64_t bytes() const noexcept;

  ThreadTeam &team;
  const VectorKernels &vectors;
  WeightState state;
  SharedWeights *shared = nullptr; // by the parts of a batch; null: there are none
  IntegerWeights integers;
  Buffer lhsBlock, rhsWhole, sumBlock, libraryScratch;

private:
  // A variable, how it lies in memory, and the layout (or kernel) that it is packed for.
  using PackedKey = std::tuple<int32_t, bool, int64_t, int64_t, const void *>;

  std::map<PackedKey, PackedWeights> weights;
  const PackedWeights *packedOnceHolds = nullptr;
  Buffer packedOnce, biasWide, consumedResult, lhsRounded;
};

template <typename Pack>
const void *ContractionMemory::packInto(PackedWeights *entry, bool keep, uint64_t bytes,
                                        const Pack &pack) {
  Buffer &target = keep ? entry->buffer : packedOnce;
  if (!keep)
    packedOnceHolds = nullptr; // until it is packed: that may fail
  reserve(target, bytes);
  pack(target.data());
  if (keep)
    entry->keptVersion = state.version;
  else
    packedOnceHolds = entry;
  return target.data();
}

} // namespace mpc::rt

#endif
