// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/drivers/cpu/convolve/depthwise_strips.h"
#include "runtime/drivers/cpu/kernels/work_blocks.h"

#include <algorithm>

namespace mpc::rt {
namespace {

// The form of the pixels first, first + step, ...: all of them, or those of a gradient that meet
// the same taps.
DepthwiseForm formOf(const Convolution &c, size_t d, int64_t first) {
  const int64_t stride = c.strides[d];
  if (!c.toImages())
    return {c.kernel[d],       stride, /*firstTap=*/0, /*tapStep=*/1, /*pixelStep=*/1,
            /*reversed=*/false};
  const int64_t firstTap = (first + c.low[d]) % stride;
  const int64_t taps = std::max<int64_t>(ceilDivide(c.kernel[d] - firstTap, stride), 0);
  return {taps, /*stride=*/1, firstTap, stride, stride, /*reversed=*/true};
}

// The first source of the pixel's window, which may lie beside the row.
int64_t sourceOf(const Convolution &c, size_t d, const DepthwiseForm &form, int64_t pixel) {
  return c.toImages() ? (pixel + c.low[d] - form.firstTap) / form.pixelStep - (form.taps - 1)
                      : imageOf(c, d, pixel, /*tap=*/0);
}

DepthwiseStrips stripsFrom(const Convolution &c, size_t d, int64_t first, int64_t count,
                           const DepthwiseForm &form) {
  const int64_t sources = c.toImages() ? c.outputs[d] : c.images[d];
  const int64_t span = (pixelsOfStrip - 1) * form.stride + form.taps;
  DepthwiseStrips result{form, {}};
  for (int64_t i = 0; i < count; i += pixelsOfStrip) {
    // The last one begins earlier: some pixels are computed twice.
    const int64_t pixel = first + std::min(i, count - pixelsOfStrip) * form.pixelStep;
    const int64_t source = sourceOf(c, d, form, pixel);
    result.strips.push_back({pixel, source, std::max<int64_t>(-source, 0),
                             std::clamp<int64_t>(sources - source, 0, span)});
  }
  return result;
}

} // namespace

DepthwiseCover coverByStrips(const Convolution &c, size_t d, const DepthwiseKernels &kernels) {
  DepthwiseCover cover{{}, windowClasses(c, d)};
  if (c.dilations[d] != 1 || c.low[d] < 0)
    return cover;
  const int64_t pixels = c.toImages() ? c.images[d] : c.outputs[d];
  const int64_t families = c.toImages() ? c.strides[d] : 1;
  for (int64_t first = 0; first < families; ++first) {
    const DepthwiseForm form = formOf(c, d, first);
    const int64_t count = ceilDivide(pixels - first, families);
    if (count < pixelsOfStrip || !kernels.hasStrips(form))
      continue;
    cover.strips.push_back(stripsFrom(c, d, first, count, form));
    for (WindowClass &same : cover.others) {
      size_t kept = 0;
      for (size_t i = 0; i < same.pixels.size(); ++i)
        if (same.pixels[i] % families != first) {
          same.pixels[kept] = same.pixels[i];
          same.sources[kept++] = same.sources[i];
        }
      same.pixels.resize(kept);
      same.sources.resize(kept);
    }
  }
  const auto isEmpty = [](const WindowClass &same) { return same.pixels.empty(); };
  cover.others.erase(std::remove_if(cover.others.begin(), cover.others.end(), isEmpty),
                     cover.others.end());
  return cover;
}

} // namespace mpc::rt
