// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where each temporary of an entry lies in the arena.
#ifndef MPC_ANALYSIS_MEMORYPLAN_H
#define MPC_ANALYSIS_MEMORYPLAN_H

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mpc/Analysis/BatchExtent.h"
#include <vector>

namespace mpc {

/// The plan of one entry whose body is straight-line at its top level (structured ops count as one
/// step). The arena is a fixed region and then a region whose every number is per sample:
/// a buffer lies at `fixed + batch * perSample`.
///
/// Alignment: the fixed region and every buffer of at least 64 bytes per sample are multiples of
/// 64, so that their buffers are 64-byte aligned for any batch. Smaller per-sample buffers (labels,
/// one number per row) are multiples of 8 only: padding them to 64 would cost more memory than the
/// alignment gains.
class MemoryPlan {
public:
  struct Buffer {
    mlir::memref::AllocOp alloc;
    BatchExtent bytes; ///< exact size
    BatchExtent offset;
    /// The leading dimension's extent when dynamic.
    int64_t extentPerSample = 1;
    /// First and last step that touch it.
    unsigned begin = 0, end = 0;
    /// Set when it shares the place of this buffer, which an elementwise op reads for the last time
    /// where it writes this one for the first.
    std::optional<unsigned> inPlaceOf;
  };

  /// Buffers of at most `apartBytes`, which the batch does not change, share memory with nothing.
  /// Failure, with an error on the op, when a size is no function of the batch or a buffer escapes
  /// a loop.
  static mlir::FailureOr<MemoryPlan> compute(mlir::func::FuncOp entry, int64_t apartBytes = 0);

  llvm::ArrayRef<Buffer> getBuffers() const { return buffers; }
  /// Bytes of the arena: fixed + batch * perSample.
  BatchExtent getArena() const { return arena; }
  /// The bytes that the buffers would need without sharing, for remarks.
  BatchExtent getSum() const { return sum; }

private:
  class Planner;

  std::vector<Buffer> buffers;
  BatchExtent arena, sum;
};

} // namespace mpc

#endif // MPC_ANALYSIS_MEMORYPLAN_H
