// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How a blocked product sees its operands and cuts its result: panels, blocks, and when what is
// packed.
#ifndef MPC_RUNTIME_DRIVERS_CPU_CONTRACT_BLOCKED_LAYOUT_H
#define MPC_RUNTIME_DRIVERS_CPU_CONTRACT_BLOCKED_LAYOUT_H

#include "runtime/base/vector_kernels.h"
#include "runtime/drivers/contraction.h"
#include "runtime/drivers/cpu/contract/panel_operand.h"
#include "runtime/drivers/cpu/kernels/micro_kernel.h"
#include "runtime/drivers/result_kernel.h"
#include "runtime/threads/thread_team.h"

namespace mpc::rt {

class BlockedLayout {
public:
  // `packsOnce`: threads pack the columns that they multiply.
  BlockedLayout(ThreadTeam &team, const VectorKernels &vectors, const MicroKernel &kernel,
                bool packsOnce)
      : team(team), vectors(vectors), kernel(kernel), packsOnce(packsOnce) {}

  struct Result {
    void *out;
    uint32_t *largest = nullptr;          // or null
    const ResultKernel *kernel = nullptr; // or null
    bool isConsumed = false;              // by the kernel: nobody reads `out` afterwards
    ReluBits bits = {};
    float *rhsSums = nullptr; // or null: receives the sums of the columns of rhs, row by row
  };
  const char *name() const { return kernel.name; }
  const MicroKernel &microKernel() const { return kernel; }
  // Both operands are of dtypes that the kernel packs.
  bool multiplies(const Contraction &shape) const;
  // Whether threads may compute rows of their own.
  bool runsByRows(const Contraction &shape) const {
    return shape.batch == 1 && multiplies(shape) && mayReadLhsAsItLies(shape);
  }
  // The size of a packed rhs.
  uint64_t packedBytes(const Contraction &shape) const;
  // Whether rhs is packed as a whole before the product, once: kept copies save that. Otherwise
  // each block packs what it reads.
  bool packsRhsFirst(const Contraction &shape, const Result &result) const;
  // Whether the product does without result.out.
  bool storesNothing(const Contraction &shape, const Result &result) const;

protected:
  struct Blocking;
  struct Grid;
  // When rhs is packed: not at all, where a packed copy is given; all of it before blocks are
  // multiplied; by each block that reads it while it multiplies; or so by the thread's first block
  // of these columns, for those that follow.
  enum class RhsPacking { none, first, byBlock, once };
  // Panels in memory: of each chunk of steps, all panels one after the other.
  struct Panels {
    const uint8_t *data = nullptr;
    int64_t firstPanel = 0, panels = 0;
  };
  PanelOperand lhsOf(const Contraction &shape, const void *data) const;
  // `narrow`: in panels of few columns.
  PanelOperand rhsOf(const Contraction &shape, const void *data, bool narrow = false) const;
  int64_t stepsOf(int64_t depth) const;
  // So few columns that panels of rhs are narrower wherever it is packed as a whole.
  bool isNarrow(const Contraction &shape) const;
  const PieceKernel &lanePieces(const Contraction &shape) const {
    return *kernel.pieces[isNarrow(shape) ? 1 : 0];
  }
  int64_t panelsOf(const Contraction &shape) const {
    const int64_t columns = lanePieces(shape).columns;
    return (shape.n + columns - 1) / columns;
  }
  // The panels of the blocks [first, first + count).
  static Panels panelsOf(const PanelOperand &side, const Blocking &blocks, int64_t first,
                         int64_t count);
  const uint8_t *chunkOf(const PanelOperand &side, const Panels &panels, int64_t chunk,
                         int64_t panel) const;

  // The product has work for this number of threads.
  int64_t threadsFor(const Contraction &shape) const;
  // Few blocks are cut further until every thread has as many. `longRows`: of a block, for a
  // kernel.
  Grid gridOf(const Contraction &shape, bool longRows) const;
  // Whether the kernel on the result may touch others of its size: an activation in its place has
  // no argument beside it and the batch.
  static bool hasOtherArrays(const Result &result) {
    return result.kernel && (result.isConsumed || result.kernel->argumentCount > 2);
  }
  RhsPacking rhsPackingOf(const Contraction &shape, const Grid &grid, const Result &result) const;
  int64_t columnBytesOf(const Contraction &shape, const Grid &grid) const;
  // The kernel reads rows of lhs where they lie.
  bool readsLanes(const Contraction &shape) const;
  bool mayReadLhsAsItLies(const Contraction &shape) const;
  bool readsLhsAsItLies(const Contraction &shape, bool rhsPacked, const Result &result) const;

  ThreadTeam &team;
  const VectorKernels &vectors;
  const MicroKernel &kernel;
  const bool packsOnce;
};

} // namespace mpc::rt

#endif
