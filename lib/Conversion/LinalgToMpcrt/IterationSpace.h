// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How the iterations of a structured op are split: what a launch counts, what a kernel loops over.
#ifndef MPC_LIB_CONVERSION_LINALGTOMPCRT_ITERATIONSPACE_H
#define MPC_LIB_CONVERSION_LINALGTOMPCRT_ITERATIONSPACE_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mpc/Analysis/BatchExtent.h"

namespace mpc {

/// Partial results of sums that threads of a CPU share. Fixed, so that results do not depend on the
/// number of threads.
inline constexpr int64_t kBlocks = 64;
/// A thread takes at least so many of these blocks.
inline constexpr int64_t kBlocksGrain = 8;

/// Operations per chunk below which splitting costs more than it gains.
inline constexpr int64_t kGrainOperations = 16384;

enum class Split {
  Inline,  ///< a few iterations: loops in the host function
  Flat,    ///< elementwise on dense buffers: one loop over all elements
  Rows,    ///< launch over parallel loops; the innermost parallel or the reductions inside
  Columns, ///< sums down contiguous columns: launch over columns, reduction outside, columns inside
  ColumnBlocks, ///< the same of few columns: a fixed number of partial results of all of them
  Blocks,       ///< sums to a scalar: a fixed number of partial results, combined in order
  Parts         ///< on a GPU, sums to few elements: partial results of each, combined in order
};

llvm::StringRef getSplitName(Split split);

struct IterationSpace {
  Split split;
  llvm::SmallVector<BatchExtent> extents; ///< of every loop of the op
  llvm::SmallVector<unsigned> launched;   ///< loops that the launch counts, outermost first
  llvm::SmallVector<unsigned> inner;      ///< loops inside the kernel, outermost first
  /// Inner loops from here on accumulate in registers; as many as `inner` when none does.
  unsigned firstReduction = 0;
  /// The innermost loop's iterations touch different memory.
  bool innermostIndependent = false;
  int64_t grain = 1;
  int64_t parts = 1; ///< partial results of each sum, for Parts
};

/// `isOnDevice`: for a GPU, where neighbouring threads take neighbouring elements and thousands of
/// threads share a sum. Failure, with an error on the op, when an extent is no function of the
/// batch.
mlir::FailureOr<IterationSpace> analyzeIterationSpace(mlir::linalg::GenericOp op,
                                                      bool isOnDevice = false);

/// The split of an op of mpcrt.rows, whose first `rowLoops` loops are launched.
mlir::FailureOr<IterationSpace> analyzeRows(mlir::linalg::GenericOp op, unsigned rowLoops);

/// Whether the operand is read or written at its linear index, or at the same index always.
bool isFlatOperand(mlir::linalg::GenericOp op, mlir::OpOperand &operand);

} // namespace mpc

#endif
