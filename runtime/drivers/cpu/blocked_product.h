// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Contractions by a micro-kernel: operands are packed into panels, which also transposes and widens
// them; blocks of the result are summed in the second-level cache and leave it once, through the
// epilogue. The order of each sum depends on k alone: not on the number of threads, nor on the
// batch.
#ifndef MPC_RUNTIME_DRIVERS_CPU_BLOCKED_PRODUCT_H
#define MPC_RUNTIME_DRIVERS_CPU_BLOCKED_PRODUCT_H

#include "runtime/base/memory.h"
#include "runtime/base/vector_kernels.h"
#include "runtime/drivers/contraction.h"
#include "runtime/drivers/cpu/micro_kernel.h"
#include "runtime/drivers/cpu/panel_operand.h"
#include "runtime/drivers/cpu/thread_team.h"
#include "runtime/drivers/result_kernel.h"

#include <atomic>
#include <vector>

namespace mpc::rt {

class BlockedProduct {
public:
  // `packsOnce`: threads pack the columns that they multiply.
  BlockedProduct(ThreadTeam &team, const VectorKernels &vectors, const MicroKernel &kernel,
                 bool packsOnce)
      : team(team), vectors(vectors), kernel(kernel), packsOnce(packsOnce) {}

  const char *name() const { return kernel.name; }
  // Both operands are of dtypes that the kernel packs.
  bool multiplies(const Contraction &shape) const;
  // As micro_kernel.h says.
  bool isWorthwhile(const Contraction &shape, bool rhsKept, bool launches) const {
    return mpc::rt::isWorthwhile(kernel, shape, rhsKept, launches);
  }
  bool isWorthwhileByRows(const Contraction &shape) const {
    return runsByRows(shape) && mpc::rt::isWorthwhileByRows(kernel, shape);
  }
  uint64_t packedBytes(const Contraction &shape) const;
  void packRhs(const Contraction &shape, const void *rhs, void *to);

  struct Result {
    void *out;
    uint32_t *largest = nullptr;          // or null
    const ResultKernel *kernel = nullptr; // or null
    bool isConsumed = false;              // by the kernel: nobody reads `out` afterwards
    ReluBits bits = {};
    float *rhsSums = nullptr; // or null: receives the sums of the columns of rhs, row by row
  };
  // Whether rhs is packed as a whole before the product, once: kept copies save that. Otherwise
  // each block packs what it reads.
  bool packsRhsFirst(const Contraction &shape, const Result &result) const;
  // Whether run() does without result.out.
  bool storesNothing(const Contraction &shape, const Result &result) const;
  // Takes the memory that run() will need; its pages come when they are used.
  void reserveFor(const Contraction &shape, bool rhsIsPacked, const Result &result);
  // `packedRhs` instead of `rhs`, from packRhs(); one of them is null. Columns are summed while
  // they are packed, so not with `packedRhs`.
  void run(const Contraction &shape, const void *lhs, const void *rhs, const void *packedRhs,
           const float *bias, const Result &result);
  // Whether runRows() computes it.
  bool runsByRows(const Contraction &shape) const {
    return shape.batch == 1 && multiplies(shape) && mayReadLhsAsItLies(shape);
  }
  // The rows [begin, end) of the result, as run() computes them; by the calling thread alone, while
  // others compute other rows.
  void runRows(const Contraction &shape, const void *lhs, const void *packedRhs, const float *bias,
               void *out, int64_t begin, int64_t end) const;
  uint64_t bytes() const noexcept;

private:
  // When rhs is packed: not at all, where a packed copy is given; all of it before blocks are
  // multiplied; by each block that reads it while it multiplies; or so by the thread's first block
  // of these columns, for those that follow.
  enum class RhsPacking { none, first, byBlock, once };
  // Panels in memory: of each chunk of steps, all panels one after the other.
  struct Panels {
    const uint8_t *data = nullptr;
    int64_t firstPanel = 0, panels = 0;
  };
  // Thread's own.
  struct Workspace {
    Buffer sums, lhs, rhs;
    int64_t packedColumn = -1; // of the result: whose panels of rhs are kept
  };
  struct Blocking;
  struct Grid;
  struct Plan;
  struct Block;
  class RhsGroups;

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
  const uint8_t *chunkOf(const PanelOperand &side, const Panels &panels, int64_t chunk,
                         int64_t panel) const;
  // `sums` of all columns may be null.
  void pack(const PanelOperand &side, int64_t first, int64_t panels, int64_t chunk, uint8_t *to,
            float *sums = nullptr) const;
  // The same of some steps, from 0 on in this order.
  void packSteps(const PanelOperand &side, int64_t first, int64_t panels, int64_t step,
                 int64_t steps, uint8_t *to, float *sums) const;
  // Of the blocks [first, first + count).
  static Panels panelsOf(const PanelOperand &side, const Blocking &blocks, int64_t first,
                         int64_t count);
  // Decides, and takes the memory.
  Plan prepare(const Contraction &shape, bool rhsIsPacked, const Result &result);
  void packAll(const PanelOperand &side, int64_t first, int64_t panels, uint8_t *to,
               float *sums = nullptr);
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
  // The block's largest element, where `result` asks for it.
  uint32_t multiplyRows(const Contraction &shape, const Block &block, const float *bias,
                        const Result &result) const;
  uint32_t largestOf(mpc_rt_dtype_t dtype, const uint8_t *row, size_t count) const {
    return dtype == MPC_RT_FLOAT32
               ? vectors.largest32(reinterpret_cast<const uint32_t *>(row), count)
               : vectors.largest16(reinterpret_cast<const uint16_t *>(row), count);
  }
  // What is done to a part of a row of the result, from `column` on, once it is finished at
  // `values`; its largest element, where `result` asks for it.
  uint32_t completeRow(const Contraction &shape, const Result &result, int64_t row, int64_t column,
                       uint8_t *values, size_t count) const;
  // As many as the product has work for.
  int64_t threadsFor(const Contraction &shape) const;
  // Streamed weights (blocked_product_stream.cpp).
  struct StreamedRows;
  struct StreamedBlock;
  bool streamsWeights(const Contraction &shape, bool rhsIsPacked) const;
  int64_t streamedStrip(const Contraction &shape) const;
  void reserveStreamed(const Contraction &shape, bool rhsIsPacked);
  void streamWeights(const Contraction &shape, const void *lhs, const void *rhs,
                     const void *packedRhs, const float *bias, const Result &result);
  void multiplyStreamed(const Contraction &shape, const StreamedRows &rows, const Panels &weights,
                        const float *bias, const Result &result, std::atomic<uint32_t> &most);
  void multiplyStreamedBlock(const Contraction &shape, const StreamedBlock &block,
                             float *sums) const;
  void finishStreamedBlock(const Contraction &shape, const StreamedBlock &block, const float *sums,
                           const float *bias, const Result &result,
                           std::atomic<uint32_t> &most) const;
  void multiplyBlock(const Block &block, Workspace &own) const;
  uint32_t finishBlock(const Contraction &shape, const Block &block, const Workspace &own,
                       const float *bias, const Result &result) const;

  ThreadTeam &team;
  const VectorKernels &vectors;
  const MicroKernel &kernel;
  const bool packsOnce;
  Buffer lhsPanels, rhsPanels;
  std::vector<Workspace> workspaces;
};

} // namespace mpc::rt

#endif
