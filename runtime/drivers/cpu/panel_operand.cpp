// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/drivers/cpu/panel_operand.h"
#include "runtime/drivers/cpu/blocking.h"

#include <algorithm>
#include <emmintrin.h>

namespace mpc::rt {
namespace {

constexpr int64_t cacheLine = 64;

// Into the second-level cache. Neighbours of the range may be asked for, too.
void fetchLines(const uint8_t *from, int64_t bytes) {
  const auto *first =
      reinterpret_cast<const uint8_t *>(reinterpret_cast<uintptr_t>(from) / cacheLine * cacheLine);
  for (const uint8_t *line = first; line < from + bytes; line += cacheLine)
    _mm_prefetch(reinterpret_cast<const char *>(line), _MM_HINT_T1);
}

} // namespace

void PanelOperand::pack(int64_t panel, int64_t panels, int64_t first, int64_t count,
                        void *to) const {
  const int64_t lane = panel * panelLanes, k = first * stepDepth;
  const int64_t offset = depthContiguous ? lane * stride + k : k * stride + lane;
  packPanels({at(data, offset, dtype), stride, lanes - lane, depth - k}, panels, count, to);
}

void PanelOperand::fetch(int64_t panel, int64_t first, int64_t count, int64_t part,
                         int64_t parts) const {
  const int64_t lane = panel * panelLanes, k = first * stepDepth;
  const int64_t ownLanes = std::min(panelLanes, lanes - lane);
  const int64_t ownDepth = std::min(count * stepDepth, depth - k);
  const int64_t rows = depthContiguous ? ownLanes : ownDepth;
  const int64_t elements = depthContiguous ? ownDepth : ownLanes;
  const int64_t offset = depthContiguous ? lane * stride + k : k * stride + lane;
  for (int64_t row = rows * part / parts; row < rows * (part + 1) / parts; ++row)
    fetchLines(at(data, offset + row * stride, dtype),
               elements * static_cast<int64_t>(dtypeSize(dtype)));
}

} // namespace mpc::rt
