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
#include "runtime/drivers/cpu/kernels/work_blocks.h"
#include "runtime/drivers/result_kernel.h"
#include "runtime/threads/thread_team.h"

#include <algorithm>

namespace mpc::rt {

// The most bytes that a row of lhs has when it is read unpacked, and the most chunks of steps then.
constexpr int64_t longestRow = 4096, mostPieces = 16;

// The dtype of rows that the kernel reads where they lie.
inline mpc_rt_dtype_t laneDtypeOf(const MicroKernel &kernel) {
  return kernel.depth == 1 ? MPC_RT_FLOAT32 : MPC_RT_BFLOAT16;
}

// Some rows of lhs may be made ready for pieces, in the first-level cache.
bool mayPrepareLanes(const MicroKernel &kernel, const Contraction &shape);

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
  static constexpr int64_t mostShortColumns = 1024; // of products of short rows
  const char *name() const { return kernel.name; }
  const MicroKernel &microKernel() const { return kernel; }
  // Both operands are of dtypes that the kernel packs.
  bool multiplies(const Contraction &shape) const;
  // Whether threads may compute rows of their own.
  bool runsByRows(const Contraction &shape) const {
    return shape.batch == 1 && multiplies(shape) &&
           (mayReadLhsAsItLies(shape) || mayPrepareLanes(kernel, shape));
  }
  // Tells packed copies of one rhs apart, whose panels are as wide as the rows want them: the place
  // in the kernel where these panels' loop stands, the same in each object of this kernel.
  const void *layoutOf(const Contraction &shape) const {
    const PieceKernel *pieces = &lanePieces(shape);
    for (const PieceKernel *const &place : kernel.pieces)
      if (place == pieces)
        return &place;
    for (const PieceKernel *const &place : kernel.ofShortRows)
      if (place == pieces)
        return &place;
    return &kernel.piecesOfVector;
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
  int64_t stepsOf(int64_t depth) const { return ceilDivide(depth, kernel.depth); }
  // Panels of rhs are narrower wherever it is packed as a whole: it has few columns, or leaves
  // fewer of them empty so, of short rows that are read where they lie.
  bool isNarrow(const Contraction &shape) const { return &lanePieces(shape) != kernel.pieces[0]; }
  const PieceKernel &lanePieces(const Contraction &shape) const;
  // Whether rows by packed weights may be multiplied some at a time by all of these.
  bool isOfShortRows(const Contraction &shape) const;
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

// Every block of a product asks for these, so that they are inlined.

inline bool BlockedLayout::readsLanes(const Contraction &shape) const {
  const int64_t chunks = ceilDivide(stepsOf(shape.k), kernel.steps);
  // Each piece may end with a part of a step, but only the last one does.
  const bool areStepsWhole =
      shape.k % (chunks == 1 ? lanePieces(shape).multiple : kernel.depth) == 0;
  return !shape.transposeLhs && shape.lhs == laneDtypeOf(kernel) && !shape.roundsLhs &&
         areStepsWhole;
}

inline PanelOperand BlockedLayout::lhsOf(const Contraction &shape, const void *data) const {
  bool contiguous = !shape.transposeLhs;
  return {data,
          shape.roundsLhs ? mpc_rt_dtype_t{MPC_RT_FLOAT32} : shape.lhs,
          shape.m,
          shape.k,
          contiguous ? shape.k : shape.m,
          contiguous,
          kernel.rows,
          kernel.lhsStepBytes,
          kernel.depth,
          kernel.packLhs[shape.lhs][contiguous],
          !shape.roundsLhs               ? nullptr
          : shape.lhs == MPC_RT_BFLOAT16 ? vectors.roundBFloat16
                                         : vectors.roundFloat16};
}

inline PanelOperand BlockedLayout::rhsOf(const Contraction &shape, const void *data,
                                         bool narrow) const {
  const PieceKernel &pieces = narrow ? lanePieces(shape) : *kernel.pieces[0];
  bool contiguous = shape.transposeRhs;
  return {data,
          shape.rhs,
          shape.n,
          shape.k,
          contiguous ? shape.k : shape.n,
          contiguous,
          narrow ? pieces.columns : kernel.columns,
          narrow ? kernel.rhsStepBytes / kernel.columns * pieces.columns : kernel.rhsStepBytes,
          kernel.depth,
          (narrow ? pieces.packRhs : kernel.packRhs)[shape.rhs][contiguous]};
}

inline const uint8_t *BlockedLayout::chunkOf(const PanelOperand &side, const Panels &panels,
                                             int64_t chunk, int64_t panel) const {
  int64_t before = chunk * kernel.steps;
  int64_t steps = std::min(kernel.steps, side.steps() - before);
  return panels.data +
         (before * panels.panels + (panel - panels.firstPanel) * steps) * side.stepBytes;
}

inline bool BlockedLayout::isOfShortRows(const Contraction &shape) const {
  // All panels stay in the second-level cache.
  constexpr int64_t mostWeightBytes = 640 << 10, stepBytesOfColumn = sizeof(float);
  // Rows of 16 bits by weights that change were not measured so.
  const bool isMeasured = kernel.depth == 1 || shape.rhsStays;
  return kernel.ofShortRows[0] && isMeasured && shape.batch == 1 && !shape.transposeLhs &&
         !shape.roundsLhs && shape.lhs == laneDtypeOf(kernel) && shape.k % kernel.depth == 0 &&
         stepsOf(shape.k) <= std::min(longestRow / stepBytesOfColumn, mostPieces * kernel.steps) &&
         shape.n <= mostShortColumns &&
         stepsOf(shape.k) * shape.n * stepBytesOfColumn <= mostWeightBytes;
}

inline const PieceKernel &BlockedLayout::lanePieces(const Contraction &shape) const {
  const PieceKernel &many = *kernel.pieces[0], &few = *kernel.pieces[1];
  const PieceKernel *vector = kernel.piecesOfVector;
  if (shape.batch != 1)
    return many;
  if (vector && shape.n <= vector->columns)
    return *vector;
  const PieceKernel *fewest = shape.n <= few.columns ? &few : &many;
  if (!isOfShortRows(shape))
    return *fewest;
  const auto filled = [&](const PieceKernel &pieces) {
    return ceilDivide(shape.n, pieces.columns) * pieces.columns;
  };
  for (const PieceKernel *pieces : {kernel.ofShortRows[0], kernel.ofShortRows[1], &few})
    if (pieces && filled(*pieces) < filled(*fewest))
      fewest = pieces;
  return *fewest;
}

} // namespace mpc::rt

#endif
