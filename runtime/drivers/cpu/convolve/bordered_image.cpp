// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/drivers/cpu/convolve/integer_convolution.h"

#include <algorithm>

namespace mpc::rt {
namespace {

// Bytes behind a copy, which kernels may read.
constexpr int64_t slack = 64;

} // namespace

BorderedImage::BorderedImage(const Convolution &shape, const Int8Form &form, int64_t parts)
    : shape(shape), form(form), pixelBytes(shape.channels * form.bytes) {
  while (split + 1 < MPC_RT_MAX_SPATIAL && shape.outputs[split] == 1)
    ++split;
  count = std::clamp<int64_t>(parts, 1, shape.outputs[split]);
  for (size_t d = split + 1; d < MPC_RT_MAX_SPATIAL; ++d)
    placesBehind *= shape.outputs[d];
  for (size_t d = 0; d < MPC_RT_MAX_SPATIAL; ++d)
    for (int64_t part = 0; part < count; ++part)
      widest[d] = std::max(widest[d], reach(d, part));
  // Along the last dimension taps lie together where nothing is between them.
  const bool joins = shape.dilations[2] == 1;
  lengthOfPiece = shape.channels * (joins ? shape.kernel[2] : 1);
  for (int64_t i = 0; i < shape.kernel[0]; ++i)
    for (int64_t j = 0; j < shape.kernel[1]; ++j)
      for (int64_t k = 0; k < (joins ? 1 : shape.kernel[2]); ++k)
        offsets.push_back(
            ((i * shape.dilations[0] * widest[1] + j * shape.dilations[1]) * widest[2] +
             k * shape.dilations[2]) *
            pixelBytes);
  border.assign(static_cast<size_t>(widest[2] * shape.channels), static_cast<int8_t>(shape.border));
}

int64_t BorderedImage::reach(size_t d, int64_t part) const {
  const int64_t places = d == split ? begin(part + 1) - begin(part) : shape.outputs[d];
  return (places - 1) * shape.strides[d] + (shape.kernel[d] - 1) * shape.dilations[d] + 1;
}

int64_t BorderedImage::first(size_t d, int64_t part) const {
  return (d == split ? begin(part) * shape.strides[d] : 0) - shape.low[d];
}

int64_t BorderedImage::bytes() const { return Convolution::product(widest) * pixelBytes + slack; }

void BorderedImage::copy(const int8_t *image, int64_t part, uint8_t *to) const {
  const int64_t rowBytes = widest[2] * pixelBytes, start = first(2, part);
  // Places of a row that are in the image.
  const int64_t inBegin = std::clamp<int64_t>(-start, 0, widest[2]);
  const int64_t inEnd = std::clamp<int64_t>(shape.images[2] - start, inBegin, widest[2]);
  for (int64_t i = 0; i < reach(0, part); ++i)
    for (int64_t j = 0; j < reach(1, part); ++j) {
      const int64_t outer = first(0, part) + i, row = first(1, part) + j;
      uint8_t *target = to + (i * widest[1] + j) * rowBytes;
      if (outer < 0 || outer >= shape.images[0] || row < 0 || row >= shape.images[1]) {
        form.write(border.data(), widest[2] * shape.channels, target);
        continue;
      }
      const int64_t pixel = (outer * shape.images[1] + row) * shape.images[2] + start + inBegin;
      form.write(border.data(), inBegin * shape.channels, target);
      form.write(image + pixel * shape.channels, (inEnd - inBegin) * shape.channels,
                 target + inBegin * pixelBytes);
      form.write(border.data(), (widest[2] - inEnd) * shape.channels, target + inEnd * pixelBytes);
    }
}

void BorderedImage::findWindows(int64_t part, const uint8_t *copy, const uint8_t **windows) const {
  Convolution::Extents extents = shape.outputs;
  extents[split] = begin(part + 1) - begin(part);
  for (int64_t i = 0; i < extents[0]; ++i)
    for (int64_t j = 0; j < extents[1]; ++j) {
      const uint8_t *row =
          copy + (i * shape.strides[0] * widest[1] + j * shape.strides[1]) * widest[2] * pixelBytes;
      for (int64_t k = 0; k < extents[2]; ++k)
        *windows++ = row + k * shape.strides[2] * pixelBytes;
    }
}

} // namespace mpc::rt
