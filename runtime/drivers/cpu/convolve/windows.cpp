// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/drivers/cpu/convolve/windows.h"

#include <algorithm>
#include <map>

namespace mpc::rt {
namespace {

// The source that `pixel` of the result meets by the tap, or -1.
int64_t sourceOf(const Convolution &c, size_t d, int64_t pixel, int64_t tap) {
  if (c.direction != MPC_RT_CONVOLUTION_INPUT_GRADIENT) {
    const int64_t image = imageOf(c, d, pixel, tap);
    return image < c.images[d] ? std::max<int64_t>(image, -1) : -1;
  }
  const int64_t moved = pixel + c.low[d] - tap * c.dilations[d];
  if (moved < 0 || moved % c.strides[d] != 0 || moved / c.strides[d] >= c.outputs[d])
    return -1;
  return moved / c.strides[d];
}

} // namespace

std::vector<WindowClass> windowClasses(const Convolution &c, size_t d) {
  const int64_t pixels =
      c.direction == MPC_RT_CONVOLUTION_INPUT_GRADIENT ? c.images[d] : c.outputs[d];
  std::map<std::vector<int64_t>, WindowClass> classes; // by the taps
  for (int64_t pixel = 0; pixel < pixels; ++pixel) {
    std::vector<int64_t> taps;
    for (int64_t tap = 0; tap < c.kernel[d]; ++tap)
      if (sourceOf(c, d, pixel, tap) >= 0)
        taps.push_back(tap);
    WindowClass &same = classes[taps];
    const int64_t first = taps.empty() ? 0 : sourceOf(c, d, pixel, taps.front());
    if (same.pixels.empty()) {
      for (int64_t tap : taps)
        same.distances.push_back(sourceOf(c, d, pixel, tap) - first);
      same.taps = std::move(taps);
    }
    same.pixels.push_back(pixel);
    same.sources.push_back(first);
  }
  std::vector<WindowClass> result;
  for (auto &entry : classes)
    result.push_back(std::move(entry.second));
  return result;
}

TapRange outputsOfTap(const Convolution &c, size_t d, int64_t tap) {
  TapRange range;
  for (int64_t output = 0; output < c.outputs[d]; ++output) {
    const int64_t image = imageOf(c, d, output, tap);
    if (image < 0 || image >= c.images[d])
      continue;
    if (range.count == 0)
      range.first = output;
    ++range.count;
  }
  return range;
}

} // namespace mpc::rt
