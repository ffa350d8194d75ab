// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operands of a blocked product: how they are seen, packed, and summed while they are.
#include "runtime/drivers/cpu/blocked_product.h"
#include "runtime/drivers/cpu/onednn_blocks.h"

#include <algorithm>

namespace mpc::rt {

// Panels that are packed together where all are: a row of them is some whole lines of memory.
static constexpr int64_t panelsAtOnce = 8;

PanelOperand BlockedProduct::lhsOf(const Contraction &shape, const void *data) const {
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

PanelOperand BlockedProduct::rhsOf(const Contraction &shape, const void *data, bool narrow) const {
  const PieceKernel &pieces = *kernel.pieces[narrow ? 1 : 0];
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

bool BlockedProduct::multiplies(const Contraction &shape) const {
  auto packs = [](PackTable packs, mpc_rt_dtype_t dtype) {
    return dtype <= MPC_RT_FLOAT16 && packs[dtype][0];
  };
  return shape.k > 0 && packs(kernel.packLhs, shape.lhs) && packs(kernel.packRhs, shape.rhs) &&
         shape.out <= MPC_RT_FLOAT16;
}

int64_t BlockedProduct::stepsOf(int64_t depth) const { return ceilDivide(depth, kernel.depth); }

const uint8_t *BlockedProduct::chunkOf(const PanelOperand &side, const Panels &panels,
                                       int64_t chunk, int64_t panel) const {
  int64_t before = chunk * kernel.steps;
  int64_t steps = std::min(kernel.steps, side.steps() - before);
  return panels.data +
         (before * panels.panels + (panel - panels.firstPanel) * steps) * side.stepBytes;
}

void BlockedProduct::pack(const PanelOperand &side, int64_t first, int64_t panels, int64_t chunk,
                          uint8_t *to, float *sums) const {
  const int64_t step = chunk * kernel.steps;
  packSteps(side, first, panels, step, std::min(kernel.steps, side.steps() - step), to, sums);
}

void BlockedProduct::packSteps(const PanelOperand &side, int64_t first, int64_t panels,
                               int64_t step, int64_t steps, uint8_t *to, float *sums) const {
  side.pack(first, panels, step, steps, to);
  if (!sums)
    return;
  // While they are in the cache: row by row, whatever the steps are.
  const int64_t lane = first * side.panelLanes, k = step * side.stepDepth;
  const int64_t lanes = std::min(panels * side.panelLanes, side.lanes - lane);
  if (step == 0)
    std::fill_n(sums + lane, lanes, 0.0f);
  vectors.addRows[side.dtype](at(side.data, k * side.stride + lane, side.dtype),
                              static_cast<size_t>(side.stride),
                              static_cast<size_t>(std::min(steps * side.stepDepth, side.depth - k)),
                              sums + lane, static_cast<size_t>(lanes));
}

// [first, first + panels) of all chunks.
void BlockedProduct::packAll(const PanelOperand &side, int64_t first, int64_t panels, uint8_t *to,
                             float *sums) {
  Panels whole{to, first, panels};
  int64_t chunks = ceilDivide(side.steps(), kernel.steps);
  if (sums) {
    // One thread takes all chunks of a column, which it sums; no thread goes without columns.
    const int64_t group = std::clamp<int64_t>(panels / team.threads(), 1, panelsAtOnce);
    team.forRange(ceilDivide(panels, group), 1, [&](int64_t begin, int64_t end) {
      for (int64_t panel = first + begin * group;
           panel < std::min(first + end * group, first + panels); panel += group)
        for (int64_t chunk = 0; chunk < chunks; ++chunk)
          pack(side, panel, std::min(group, first + panels - panel), chunk,
               const_cast<uint8_t *>(chunkOf(side, whole, chunk, panel)), sums);
    });
    return;
  }
  int64_t groups = ceilDivide(panels, panelsAtOnce);
  const int64_t elements =
      std::min(panelsAtOnce, panels) * side.panelLanes * kernel.steps * side.stepDepth;
  team.forRange(groups * chunks, std::max<int64_t>(conversionGrain / elements, 1),
                [&](int64_t begin, int64_t end) {
                  for (int64_t item = begin; item < end; ++item) {
                    int64_t panel = first + item % groups * panelsAtOnce, chunk = item / groups;
                    pack(side, panel, std::min(panelsAtOnce, first + panels - panel), chunk,
                         const_cast<uint8_t *>(chunkOf(side, whole, chunk, panel)));
                  }
                });
}

uint64_t BlockedProduct::packedBytes(const Contraction &shape) const {
  return static_cast<uint64_t>(panelsOf(shape) * stepsOf(shape.k) *
                               rhsOf(shape, nullptr, isNarrow(shape)).stepBytes);
}

void BlockedProduct::packRhs(const Contraction &shape, const void *rhs, void *to) {
  packAll(rhsOf(shape, rhs, isNarrow(shape)), 0, panelsOf(shape), static_cast<uint8_t *>(to));
}

} // namespace mpc::rt
