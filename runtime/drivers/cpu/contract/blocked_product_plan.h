// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How a blocked product goes about: what its two sources share.
#ifndef MPC_RUNTIME_DRIVERS_CPU_CONTRACT_BLOCKED_PRODUCT_PLAN_H
#define MPC_RUNTIME_DRIVERS_CPU_CONTRACT_BLOCKED_PRODUCT_PLAN_H

#include "runtime/base/dtype.h"
#include "runtime/drivers/cpu/contract/blocked_product.h"
#include "runtime/drivers/cpu/kernels/work_blocks.h"

#include <algorithm>
#include <atomic>

namespace mpc::rt {

// Larger operands are packed in strips instead of as a whole before the blocks are multiplied.
constexpr int64_t stripBytes = 32 << 20;
// Behind each row of sums, so that rows do not fall on the same few sets of the caches.
constexpr int64_t sumPadding = 16;
// The most bytes that one row of a block has.
constexpr size_t maximalRowBytes = 16384;

inline int64_t elementBytes(mpc_rt_dtype_t dtype) { return static_cast<int64_t>(dtypeSize(dtype)); }

inline uint32_t epilogueFlags(const Contraction &shape) {
  return (shape.hasBias ? epilogueBias : 0u) | (shape.relu ? epilogueRelu : 0u) |
         (shape.accumulate ? epilogueAccumulate : 0u);
}

// Threads do so with one number.
inline void raise(std::atomic<uint32_t> &most, uint32_t own) {
  uint32_t before = most.load(std::memory_order_relaxed);
  while (before < own && !most.compare_exchange_weak(before, own, std::memory_order_relaxed)) {
  }
}

// For short rows: threads share the columns of larger weights for a few rows, so that each reads a
// part of them.
inline bool areManyRows(const MicroKernel &kernel, const Contraction &shape) {
  constexpr int64_t fewRows = 64, nearColumns = 512, nearSteps = 512, nearWeights = 128 << 10;
  const bool areNear = kernel.depth == 1 && shape.n <= nearColumns && shape.k <= nearSteps &&
                       shape.k * shape.n <= nearWeights;
  return shape.m > fewRows || areNear;
}

// A large result is written without reading what was there before, and without displacing what the
// caches hold: by the time somebody reads it, it would have left them anyway.
inline bool streamsResult(const Contraction &shape, const void *out) {
  constexpr int64_t largeBytes = 4 << 20;
  return !shape.accumulate && shape.n * elementBytes(shape.out) % 64 == 0 &&
         static_cast<int64_t>(shape.outElements()) * elementBytes(shape.out) >= largeBytes &&
         reinterpret_cast<uintptr_t>(out) % 64 == 0;
}

// An extent cut into `count` blocks of `size`, the last one smaller.
struct BlockedLayout::Blocking {
  int64_t count, size;
  static Blocking atMost(int64_t extent, int64_t most, int64_t unit) {
    return inParts(extent, ceilDivide(extent, most), unit);
  }
  static Blocking inParts(int64_t extent, int64_t parts, int64_t unit) {
    int64_t size = ceilDivide(ceilDivide(extent, parts), unit) * unit;
    return {ceilDivide(extent, size), size};
  }
};

struct BlockedLayout::Grid {
  Blocking rows, columns;
};

// How a product is computed.
struct BlockedProduct::Plan {
  Grid grid;
  RhsPacking rhsPacking = RhsPacking::none;
  bool lhsAsItLies = false;
  bool lhsFirst = false;                 // lhs is packed before blocks are multiplied
  int64_t rowStrip = 0, columnStrip = 0; // blocks whose operands are packed at a time
  int64_t sumBlocks = 1; // of a thread: two, where one is finished while the next is multiplied
};

struct BlockedProduct::Block {
  PanelOperand lhs, rhs;
  Panels lhsPanels, rhsPanels; // without data: the block packs what it reads
  RhsPacking rhsPacking;
  int64_t batch, row = 0, rows = 0, column = 0, columns = 0;
  float *rhsSums = nullptr;   // of what the block packs
  bool preparesLanes = false; // of rows that are read where they lie
};

// Takes the rows of a block from sums to the result, all at once or some at a time.
class BlockedProduct::RowFinisher {
public:
  RowFinisher(const BlockedProduct &product, const Contraction &shape, const Block &block,
              float *sums, const float *bias, const Result &result);
  // Rows go around the caches, and no kernel reads other memory for them.
  bool streams() const { return isStreamed && !result.kernel; }
  // Finishes as many rows with each of `tiles` calls.
  void keepPace(int64_t tiles);
  // The largest magnitude of the block, where the result asks for it.
  uint32_t finishAll();

private:
  void finishRow();

  const BlockedProduct &product;
  const Contraction &shape;
  const Result &result;
  const EpilogueRow finish;
  const int64_t firstRow, rows, column, columns;
  float *const sums;
  const float *const bias;
  const int64_t stride, rowBytes;
  const int64_t first; // element of the result
  // The result is asked for bits or for its largest magnitude.
  const bool asksMore;
  // Sums that are the result already are not copied before somebody takes them.
  bool isConsumed, isStreamed, isFinished;
  int64_t row = 0, due = 0;
  uint32_t most = 0;
  alignas(cacheLine) uint8_t staged[maximalRowBytes];
};

inline uint32_t BlockedProduct::completeRow(const Contraction &shape, const Result &result,
                                            int64_t row, int64_t column, uint8_t *values,
                                            size_t count) const {
  // The result is one matrix. Blocks begin at a whole byte of bits, since panels are multiples of 8
  // columns.
  const int64_t byte = row * shape.maskRowBytes() + column / 8;
  if (result.bits.where)
    (shape.out == MPC_RT_FLOAT32 ? vectors.keepWhere32
                                 : vectors.keepWhere16)(result.bits.where + byte, values, count);
  if (result.bits.mask)
    vectors.maskPositive[shape.out](values, result.bits.mask + byte, count);
  return result.largest ? largestOf(shape.out, values, count) : 0;
}

} // namespace mpc::rt

#endif
