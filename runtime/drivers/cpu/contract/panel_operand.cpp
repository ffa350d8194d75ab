// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/drivers/cpu/contract/panel_operand.h"
#include "runtime/drivers/cpu/kernels/work_blocks.h"

#include <algorithm>

namespace mpc::rt {

void PanelOperand::pack(int64_t panel, int64_t panels, int64_t first, int64_t count,
                        void *to) const {
  if (round)
    return packRounded(panel, panels, first, count, to);
  const int64_t lane = panel * panelLanes, k = first * stepDepth;
  const int64_t offset = depthContiguous ? lane * stride + k : k * stride + lane;
  packPanels({at(data, offset, dtype), stride, lanes - lane, depth - k}, panels, count, to);
}

// Some steps of some panels at a time, which the first-level cache holds: whole lines of memory are
// rounded, and panels are packed from there by the kernel's own functions.
void PanelOperand::packRounded(int64_t panel, int64_t panels, int64_t first, int64_t count,
                               void *to) const {
  constexpr int64_t pieceElements = 8192;
  alignas(cacheLine) uint16_t piece[pieceElements];
  constexpr int64_t stepsOfVectors = 16; // that functions for vectors pack at once
  const int64_t stepElements = panelLanes * stepDepth;
  const int64_t panelsAtOnce =
      std::clamp<int64_t>(pieceElements / (stepsOfVectors * stepElements), 1, panels);
  int64_t stepsAtOnce = pieceElements / (panelsAtOnce * stepElements);
  if (stepsAtOnce > stepsOfVectors)
    stepsAtOnce -= stepsAtOnce % stepsOfVectors;
  for (int64_t begin = 0; begin < panels; begin += panelsAtOnce) {
    const int64_t taken = std::min(panelsAtOnce, panels - begin);
    const int64_t lane = (panel + begin) * panelLanes;
    const int64_t ownLanes = std::min(taken * panelLanes, lanes - lane);
    for (int64_t step = 0; step < count; step += stepsAtOnce) {
      const int64_t steps = std::min(stepsAtOnce, count - step);
      const int64_t k = (first + step) * stepDepth;
      const int64_t ownDepth = std::min(steps * stepDepth, depth - k);
      const int64_t rows = depthContiguous ? ownLanes : ownDepth;
      const int64_t width = depthContiguous ? ownDepth : ownLanes;
      const auto *from = static_cast<const float *>(data) +
                         (depthContiguous ? lane * stride + k : k * stride + lane);
      for (int64_t row = 0; row < rows; ++row)
        round(from + row * stride, piece + row * width, static_cast<size_t>(width));
      for (int64_t i = 0; i < taken; ++i) {
        const int64_t skipped = i * panelLanes;
        packPanels(
            {piece + skipped * (depthContiguous ? width : 1), width, ownLanes - skipped, ownDepth},
            1, steps, static_cast<uint8_t *>(to) + ((begin + i) * count + step) * stepBytes);
      }
    }
  }
}

MemoryRows PanelOperand::rowsOf(int64_t panel, int64_t panels, int64_t first, int64_t count) const {
  const int64_t lane = panel * panelLanes, k = first * stepDepth;
  const int64_t ownLanes = std::min(panels * panelLanes, lanes - lane);
  const int64_t ownDepth = std::min(count * stepDepth, depth - k);
  const auto bytes = static_cast<int64_t>(dtypeSize(dtype));
  const int64_t offset = depthContiguous ? lane * stride + k : k * stride + lane;
  return {at(data, offset, dtype), (depthContiguous ? ownDepth : ownLanes) * bytes, stride * bytes,
          depthContiguous ? ownLanes : ownDepth};
}

} // namespace mpc::rt
