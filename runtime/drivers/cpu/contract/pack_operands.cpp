// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operands of a blocked product: how they are seen, packed, and summed while they are.
#include "runtime/drivers/cpu/contract/blocked_product.h"
#include "runtime/drivers/cpu/kernels/work_blocks.h"

#include <algorithm>

namespace mpc::rt {

// Panels that are packed together where all are: a row of them is some whole lines of memory.
static constexpr int64_t panelsAtOnce = 8;

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

void BlockedProduct::packRhs(const Contraction &shape, const void *rhs, void *to) {
  packAll(rhsOf(shape, rhs, isNarrow(shape)), 0, panelsOf(shape), static_cast<uint8_t *>(to));
}

} // namespace mpc::rt
