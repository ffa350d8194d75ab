// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Contractions by a micro-kernel: operands are packed into panels, which also transposes and widens
// them; blocks of the result are summed in the second-level cache and leave it once, through the
// epilogue. The order of each sum depends on k alone: not on the number of threads, nor on the
// batch.
#ifndef MPC_RUNTIME_DRIVERS_CPU_CONTRACT_BLOCKED_PRODUCT_H
#define MPC_RUNTIME_DRIVERS_CPU_CONTRACT_BLOCKED_PRODUCT_H

#include "runtime/base/memory.h"
#include "runtime/base/vector_kernels.h"
#include "runtime/drivers/contraction.h"
#include "runtime/drivers/cpu/contract/blocked_layout.h"

#include <atomic>
#include <vector>

namespace mpc::rt {

class BlockedProduct : public BlockedLayout {
public:
  using BlockedLayout::BlockedLayout;

  void packRhs(const Contraction &shape, const void *rhs, void *to);

  // Takes the memory that run() will need; its pages come when they are used.
  void reserveFor(const Contraction &shape, bool rhsIsPacked, const Result &result);
  // `packedRhs` instead of `rhs`, from packRhs(); one of them is null. Columns are summed while
  // they are packed, so not with `packedRhs`.
  void run(const Contraction &shape, const void *lhs, const void *rhs, const void *packedRhs,
           const float *bias, const Result &result);
  // The rows [begin, end) of the result, as run() computes them; by the calling thread alone, while
  // others compute other rows.
  void runRows(const Contraction &shape, const void *lhs, const void *packedRhs, const float *bias,
               void *out, int64_t begin, int64_t end) const;
  uint64_t bytes() const noexcept;
  // Whether run() goes by blocked_product_stream.cpp.
  bool streamsWeights(const Contraction &shape, bool rhsIsPacked) const;

private:
  // Thread's own.
  struct Workspace {
    Buffer sums, lhs, rhs;
    int64_t packedColumn = -1; // of the result: whose panels of rhs are kept
  };
  struct Plan;
  struct Block;
  class RowFinisher;
  class RhsGroups;

  // `sums` of all columns may be null.
  void pack(const PanelOperand &side, int64_t first, int64_t panels, int64_t chunk, uint8_t *to,
            float *sums = nullptr) const;
  // The same of some steps, from 0 on in this order.
  void packSteps(const PanelOperand &side, int64_t first, int64_t panels, int64_t step,
                 int64_t steps, uint8_t *to, float *sums) const;
  // Decides, and takes the memory.
  Plan prepare(const Contraction &shape, bool rhsIsPacked, const Result &result);
  void packAll(const PanelOperand &side, int64_t first, int64_t panels, uint8_t *to,
               float *sums = nullptr);
  // The block's largest element, where `result` asks for it.
  uint32_t multiplyRows(const Contraction &shape, const Block &block, const float *bias,
                        const Result &result) const;
  uint32_t largestOf(mpc_rt_dtype_t dtype, const uint8_t *row, size_t count) const {
    return dtype == MPC_RT_FLOAT32
               ? vectors.largest32(reinterpret_cast<const uint32_t *>(row), count)
               : vectors.largest16(reinterpret_cast<const uint16_t *>(row), count);
  }
  // Completes a part of a row of the result, from `column` on, whose values are finished at
  // `values`. Returns its largest magnitude where `result` asks for it.
  uint32_t completeRow(const Contraction &shape, const Result &result, int64_t row, int64_t column,
                       uint8_t *values, size_t count) const;
  // Streamed weights (blocked_product_stream.cpp).
  struct StreamedRows;
  struct StreamedBlock;
  int64_t streamedStrip(const Contraction &shape) const;
  bool streamsRowsAsTheyLie(const Contraction &shape) const;
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
  // Short rows (blocked_product_short_rows.cpp).
  void multiplyShortRows(const Contraction &shape, const void *lhs, const void *packedRhs,
                         const float *bias, const Result &result);
  uint32_t multiplyShortRows(const Contraction &shape, const void *lhs, const Panels &weights,
                             const float *bias, const Result &result, int64_t first,
                             int64_t count) const;
  // Into `sums`; rows of the block before are finished meanwhile, where it is not null.
  void multiplyBlock(const Block &block, Workspace &own, float *sums, RowFinisher *before) const;
  // The room that a block's sums take.
  static int64_t sumElementsOf(const Grid &grid);

  Buffer lhsPanels, rhsPanels;
  std::vector<Workspace> workspaces;
};

} // namespace mpc::rt

#endif
